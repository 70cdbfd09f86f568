# The working directory.
import os, pathlib, sys

print(os.getcwd(), pathlib.Path().resolve(), os.path.abspath("x"), os.environ.get("PWD"), os.path.samefile(".", "/output"))
open("made here", "w").close()
print(os.listdir("."), os.listdir(os.path.dirname(__file__)), os.path.abspath(__file__))
os.chdir("/")
print(os.getcwd(), __file__)
