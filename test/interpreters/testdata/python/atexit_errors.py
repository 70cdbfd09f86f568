# ends: exit 0
# An error at exit is printed and changes nothing.
import atexit

def bad():
    raise ValueError("at exit")
def leave():
    raise SystemExit(3)
atexit.register(print, "last")
atexit.register(bad)
atexit.register(leave)
print(atexit._ncallbacks())
