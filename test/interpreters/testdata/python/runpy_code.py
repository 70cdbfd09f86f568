# Running a file and a module as the main one.
import runpy, sys

with open("other.py", "w") as f:
    f.write("import sys\nprint(__name__, __file__, sys.argv, sys.modules.get('__main__').__file__)\nx = 3\n")
print(runpy.run_path("other.py")["x"])
print(runpy.run_path("other.py", run_name="__main__")["__name__"], sys.argv)
sys.path.insert(0, "")
print(runpy.run_module("other", alter_sys=True)["__spec__"].name)
