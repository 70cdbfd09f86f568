# The C library and the interpreter's own functions.
import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)
print(libc.abs(-3), libc.getpid() == os.getpid(), libc.open(b"/nowhere", 0), ctypes.get_errno(), os.strerror(ctypes.get_errno()))
libc.puts(b"by the C library"); libc.fflush(None)
api = ctypes.pythonapi
print(api.Py_IsInitialized(), api.PyGILState_Check())
api.Py_GetVersion.restype = ctypes.c_char_p
print(api.Py_GetVersion().split()[0].decode() == __import__("platform").python_version())
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def back(n): return n + 1
print(back(4))
class S(ctypes.Structure): _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]
print(ctypes.sizeof(S), S(1, 2).b)
