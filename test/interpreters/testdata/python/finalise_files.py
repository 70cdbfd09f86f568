# Files that nobody closed are flushed, and temporary ones gone.
import os, sys, tempfile, warnings

f = open("left", "w")
f.write("not flushed")
g = open("line", "w", buffering=1)
g.write("line\nrest")
d = tempfile.TemporaryDirectory()
n = tempfile.NamedTemporaryFile(dir=".")
print(sorted(os.listdir("."))[0] != "", os.path.exists(d.name))
