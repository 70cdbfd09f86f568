# The streams can be replaced and detached.
import io, os, sys

raw = sys.stdout.detach()
sys.stdout = io.TextIOWrapper(raw, encoding="utf-16-le", line_buffering=True)
print("wide")
sys.stdout.flush()
sys.stdout = sys.__stderr__.__class__(open(1, "wb", buffering=0, closefd=False), "ascii", "backslashreplace", write_through=True)
print("caf\u00e9")
