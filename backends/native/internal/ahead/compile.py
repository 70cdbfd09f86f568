# Compiles what comes on stdin into a file of compiled code that is never compared with its source (PEP 552).
import marshal
import sys
from importlib.util import MAGIC_NUMBER

code = compile(sys.stdin.buffer.read(), sys.argv[1], "exec")
tag = sys.implementation.cache_tag.encode()
sys.stdout.buffer.write(tag + b"\0" + MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code))
