# What is finalised at exit, and in which order.
import sys, weakref

class A:
    def __init__(self, name): self.name = name
    def __del__(self, sys=sys, print=print): print("del", self.name, sys.is_finalizing())
a = A("global")
_b = A("underscore")
c = A("cycle"); c.self = c
d = {"k": A("in a dict")}
weakref.finalize(A, print, "weakref.finalize")
def g(print=print):
    try:
        yield 1
    finally:
        print("generator closed")
i = g(); next(i)
sys.modules["kept"] = A("in sys.modules")
print("end")
