# The interactive helpers, without a terminal.
import pydoc, sys

class C:
    "A class."
    def m(self): "A method."
print(pydoc.plain(pydoc.render_doc(C)))
help(C.m)
print(repr(exit), repr(copyright)[:20], sys.ps1 if hasattr(sys, "ps1") else "no ps1", hasattr(sys, "last_traceback"))
