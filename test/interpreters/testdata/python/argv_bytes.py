# Arguments that are no text come back as the bytes that they were.
import os, sys

print([os.fsencode(a) for a in sys.argv])
print(ascii(sys.orig_argv[1:]))
