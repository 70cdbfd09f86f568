# The debugger reads its commands from the input.
import pdb, sys

def f(x):
    y = x + 1
    return 1 / (y - 3)
try:
    f(2)
except ZeroDivisionError:
    pdb.post_mortem()
breakpoint()
z = 1
print("end", z)
