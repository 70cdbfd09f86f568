# Without one, each interpreter has its own.
import subprocess, sys

print(hash("a") == hash("a"), sys.flags.hash_randomization)
other = subprocess.run([sys.executable, "-c", "print(hash('a'))"], capture_output=True).stdout
print(other == b"%d\n" % hash("a"))
