# With buffers, what is printed comes when they are full or at the end.
import os, subprocess, sys

print("first")
os.write(1, b"second\n")
subprocess.run(["echo", "third"])
print(sys.stdout.line_buffering, sys.stdout.write_through, type(sys.stdout.buffer).__name__)
print("x" * 9000)
os.write(1, b"\nlast\n")
