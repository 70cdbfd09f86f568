# Modules from an archive, a hook on paths, and resources.
import sys, zipfile, importlib.resources, importlib.metadata, pkgutil

with zipfile.ZipFile("m.zip", "w") as z:
    z.writestr("zipped.py", "print(__file__, type(__loader__).__name__)\n")
    z.writestr("p/__init__.py", "")
    z.writestr("p/data.txt", "data")
sys.path.insert(0, "m.zip")
import zipped
print(importlib.resources.files("p").joinpath("data.txt").read_text(), pkgutil.get_data("p", "data.txt"))
print(type(sys.path_importer_cache["m.zip"]).__name__)
__import__("os").remove("m.zip")  # it holds the time
