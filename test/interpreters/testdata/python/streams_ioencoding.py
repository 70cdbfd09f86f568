# ends: exit 1
# The encoding of the streams is fixed at the start.
import sys
for f in sys.stdin, sys.stdout, sys.stderr:
    print(f.encoding, f.errors)
print(ascii(sys.stdin.read()))
print("\u20ac")
