# The import system's own tools.
import importlib.util, importlib.machinery, sys, types

spec = importlib.util.spec_from_loader("made", loader=None)
print(spec, importlib.util.find_spec("json").origin, importlib.util.find_spec("no_such"))
try:
    importlib.util.find_spec("__main__")
except ValueError as e:
    print(e)
m = types.ModuleType("made", "doc"); exec("x = __name__", m.__dict__); print(m.x, m)
print(importlib.machinery.all_suffixes(), importlib.util.MAGIC_NUMBER[:2] != b"")
print(importlib.import_module("colorsys").__name__, __import__("xml.dom").__name__)
