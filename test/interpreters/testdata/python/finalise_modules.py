# Attributes set on modules of the library die at exit.
import collections, io, os, sys

class A:
    def __init__(self, name): self.name = name
    def __del__(self): os_write(1, b"del " + self.name.encode() + b"\n")
os_write = os.write
for m in sys, os, io, collections:
    m.kept = A(m.__name__)
print("end")
