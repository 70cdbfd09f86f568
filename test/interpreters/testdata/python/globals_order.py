# The names that a fresh program starts with, in their order.
start = list(globals())
print(start)
print({k: type(v).__name__ for k, v in dict(globals()).items()})
