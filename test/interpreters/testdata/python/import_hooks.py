# Imports go through the hooks that the program installs, and the first failing name is the program's own.
import sys

seen = []
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        seen.append((name, path is None))
        return None
sys.meta_path.insert(0, Finder)
import colorsys
import xml.sax.saxutils
try:
    import usercustomize
except ImportError as e:
    print(type(e).__name__, e, e.name, e.path)
try:
    import no_such_module.sub
except ImportError as e:
    print(type(e).__name__, e, e.name, e.path)
print(seen[:2], seen[-2:])
