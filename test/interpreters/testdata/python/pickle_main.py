# Classes of the program travel by name.
import copy, copyreg, pickle, pickletools, shelve, marshal

class P:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return self.x == o.x
for n in range(pickle.HIGHEST_PROTOCOL + 1):
    data = pickle.dumps(P({1: [2, 3]}), n)
    print(n, data, pickle.loads(data) == P({1: [2, 3]}))
print(pickle.loads(b"c__main__\nP\n.") is P, copy.deepcopy(P([1])).x)
try:
    pickle.dumps(lambda: 0)
except Exception as e:
    print(type(e).__name__, str(e).split(" at ")[0])
print(marshal.dumps((1, "x", None)), len(copyreg.dispatch_table))
