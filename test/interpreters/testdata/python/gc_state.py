# The collector as it starts.
import gc

print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage, gc.callbacks, gc.get_freeze_count())
print([s["collected"] for s in gc.get_stats()], [s["uncollectable"] for s in gc.get_stats()])
print(gc.collect(), gc.collect())
class A: pass
a = A(); a.a = a; del a
print(gc.collect())
