# The environment, each way that there is to see it.
import os, posix

for k, v in os.environ.items():
    print(k, repr(v))
print(list(os.environb.items()) == [(os.fsencode(k), os.fsencode(v)) for k, v in os.environ.items()])
print(posix.environ == dict(os.environb), list(posix.environ) == list(os.environb))
print(len(os.environ), os.getenv("GIVEN"), os.getenv("NOT_GIVEN"), "ODD NAME" in os.environ)
import ctypes
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print([getenv(k) == os.environb[k] for k in os.environb])
