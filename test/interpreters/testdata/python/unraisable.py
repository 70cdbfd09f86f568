# ends: exit 0
# Errors that nobody can catch.
class A:
    def __del__(self):
        raise ValueError("in __del__")
A()
import gc
def g():
    try:
        yield
    finally:
        raise KeyError("in a generator")
i = g(); next(i); del i
print("after")
