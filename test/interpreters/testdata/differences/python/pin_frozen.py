# What is pinned is frozen.
import gc
print(gc.get_freeze_count() > 0)
