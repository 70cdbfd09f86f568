# How deep the program may call.
import sys

print(sys.getrecursionlimit())
def f(n=1):
    try:
        return f(n + 1)
    except RecursionError:
        return n
print(f())
sys.setrecursionlimit(2000)
print(f())
def deep(n): return n and deep(n - 1)
sys.setrecursionlimit(100000)
print(deep(15000))
