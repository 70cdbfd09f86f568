# Modules called as those that are looked for at the start are the program's own.
import sys
import usercustomize
print(usercustomize.X, sys.modules["sitecustomize"].__file__.startswith("/usr"))
import site, os, io, codecs
print([m.__file__.startswith("/usr") for m in (site, os, io, codecs)])
