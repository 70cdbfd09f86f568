# Without buffers the two streams keep their order.
import os, sys

sys.stdout.write("a")
os.write(1, b"b")
print("c", end="")
sys.stdout.buffer.write(b"d\n")
print(sys.stdout.line_buffering, sys.stdout.write_through, type(sys.stdout.buffer).__name__, getattr(sys.stdout.buffer, "raw", None))
print(sys.stderr.line_buffering, sys.stderr.write_through, type(sys.stderr.buffer).__name__)
print(sys.stdin.line_buffering, type(sys.stdin.buffer).__name__)
