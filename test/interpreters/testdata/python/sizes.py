# Sizes, counts of references, and what is shared.
import sys

print([sys.getsizeof(x) for x in (0, 1 << 40, "", "é", b"", (), [], {}, set(), 1.0, None, object(), print)])
print([sys.getrefcount(x) for x in (object(), [], [1].append)], sys.intern("some text") is sys.intern("some text"))
x = []
y = 256
print(sys.getrefcount(x), y is int("256"), sys.getsizeof(globals()))
print(sys.getsizeof([*range(10)]), sys.getsizeof({n: n for n in range(10)}))
