# Nothing compiled is left, unless the program asks for it.
import os, py_compile, sys

with open("m.py", "w") as f:
    f.write("x = 1\n")
sys.path.insert(0, os.getcwd())
import m
print(sorted(os.listdir(".")), m.__cached__)
sys.dont_write_bytecode = False
print(py_compile.compile("m.py", cfile="m.pyc"))
os.remove("m.pyc")
