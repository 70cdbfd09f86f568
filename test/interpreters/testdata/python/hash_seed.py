# A given seed makes hashes, and the order of sets, always the same.
print(hash("a"), hash(b"b"), hash((1, "c")), list({"one", "two", "three", "four"}), hash(3.5))
import sys
print(sys.flags.hash_randomization)
