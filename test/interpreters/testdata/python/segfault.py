# ends: SIGSEGV
import ctypes, faulthandler
faulthandler.enable()
def f():
    ctypes.string_at(0)
print("before", flush=True)
f()
