# The path that the interpreter's C functions tell holds the hook's directory; sys.path does not.
import ctypes
f = ctypes.pythonapi.Py_GetPath
f.restype = ctypes.c_wchar_p
print("/etc/toolcell" in f().split(":"))
