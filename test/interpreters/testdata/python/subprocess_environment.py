# The environment that children get.
import os, subprocess

os.environ["ADDED"] = "é"
os.environ.pop("TAKEN")
os.putenv("PUT", "only the C library knows")
print(subprocess.run(["env", "-0"], capture_output=True).stdout.split(b"\0"))
print(subprocess.run(["env"], env={"ONE": "1"}, capture_output=True).stdout)
os.environ.clear()
print(subprocess.run(["/usr/bin/env"], capture_output=True).stdout)
