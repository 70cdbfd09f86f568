# Events that the program hears of from now on.
import sys

seen = []
sys.addaudithook(lambda event, args: seen.append((event, args[:2] if event in ("open", "import") else None)))
open("/dev/null").close()
import colorsys
eval("1")
compile("x", "y", "exec")
print([s for s in seen if s[0] != "object.__getattr__"][:12])
