# Another interpreter reads its program from the same input.
import subprocess, sys

p = subprocess.run([sys.executable, "-", "x", "y"], capture_output=True, text=True)
print(p.returncode, p.stdout, p.stderr)
