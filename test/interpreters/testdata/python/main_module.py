# The module that the program is.
"""Not a docstring, since comments come first but strings may: it is one."""
import sys

m = sys.modules["__main__"]
print(__name__, __file__, __spec__, __package__, __doc__)
print(type(__loader__).__name__, __loader__.name, __loader__.path)
print(__builtins__ is sys.modules["builtins"], __cached__ if "__cached__" in globals() else "no __cached__")
print(m.__dict__ is globals(), type(m).__name__, repr(m))
print(list(m.__dict__))
print(vars() is globals())
