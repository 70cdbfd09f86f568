# No input is an empty one.
import os, sys

print(repr(sys.stdin.read()), os.read(0, 1))
try:
    input()
except EOFError as e:
    print(repr(e))
