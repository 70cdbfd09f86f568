# A child inherits three descriptors, and what it is given.
import os, subprocess

print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split())
print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout.split())
r, w = os.pipe()
print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, pass_fds=[r]).stdout.split(), r)
