# The array of the C library, in its order.
import ctypes, os

environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
n = 0
while environ[n] is not None:
    print(environ[n])
    n += 1
print(n == len(os.environ))
