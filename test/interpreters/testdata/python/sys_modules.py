# Every module that a fresh interpreter has, and none more.
import sys

print(len(sys.modules))
for name in sys.modules:
    print(name)
