# What the import system has looked at.
import sys

for path, finder in sys.path_importer_cache.items():
    print(path, type(finder).__name__)
print([getattr(f, "__name__", f) for f in sys.path_hooks][:1], len(sys.path_hooks))
print([getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
