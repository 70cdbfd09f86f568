# Memory that there is not.
try:
    bytearray(1 << 62)
except MemoryError as e:
    print(repr(e))
try:
    "x" * (1 << 62)
except (MemoryError, OverflowError) as e:
    print(repr(e))
