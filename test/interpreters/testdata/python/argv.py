# What a program knows of its command line.
import sys

print(sys.argv)
print(sys.orig_argv)
print([type(a).__name__ for a in sys.argv])
print(sys.argv is sys.orig_argv)
