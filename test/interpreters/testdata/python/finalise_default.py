# A default argument, a closure and a class attribute die as well.
class A:
    def __init__(self, name): self.name = name
    def __del__(self): print("del", self.name)
def f(x=A("default")): return x
def outer():
    a = A("closure")
    def inner(): return a
    return inner
kept = outer()
class C:
    attribute = A("class attribute")
import types
m = types.ModuleType("m"); m.a = A("module attribute")
print("end")
