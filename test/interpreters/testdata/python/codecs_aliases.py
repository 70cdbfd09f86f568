# Encodings that were looked up, and errors of the program's own.
import codecs, encodings, sys

print(sorted(m for m in sys.modules if m.startswith("encodings")))
codecs.register_error("mine", lambda e: ("?", e.end))
print("aé".encode("ascii", "mine"), "x".encode("utf-16"), codecs.lookup("latin1").name, b"\xff".decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape"))
try:
    "x".encode("no-such")
except LookupError as e:
    print(e)
codecs.register(lambda n: codecs.lookup("utf-8") if n == "own" else None)
print("é".encode("own"))
