# What the collector finds of the program.
import gc, sys

class Mine: pass
kept = [Mine() for _ in range(5)]
print(sum(type(o) is Mine for o in gc.get_objects()), len(gc.get_referrers(kept[0])), gc.get_referrers(kept) == [globals()])
print(sum(type(o) is type(sys) for o in gc.get_objects()) == len({id(m) for m in sys.modules.values() if type(m) is type(sys)}))
print(sum(1 for o in gc.get_objects() if getattr(type(o), "__name__", "") == "frame"))
