# The bytes of the input, all of them, once.
import os, sys

print(os.read(0, 5))
print(sys.stdin.buffer.readline())
print(sys.stdin.buffer.peek(1)[:1])
print(sys.stdin.buffer.read())
print(sys.stdin.buffer.read(), os.read(0, 1))
