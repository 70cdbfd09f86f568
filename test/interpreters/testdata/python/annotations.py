# __annotations__ of a fresh __main__ is empty and is made on demand.
print("__annotations__" in globals())
x: int = 3
y: "later"
print(__annotations__)
import sys
print(sys.modules["__main__"].__annotations__ is __annotations__)
