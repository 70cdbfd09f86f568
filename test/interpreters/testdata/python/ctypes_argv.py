# What the interpreter was started with, by its C functions.
import ctypes, sys

api = ctypes.pythonapi
argc, argv = ctypes.c_int(), ctypes.POINTER(ctypes.c_wchar_p)()
api.Py_GetArgcArgv(ctypes.byref(argc), ctypes.byref(argv))
print([argv[n] for n in range(argc.value)] == sys.orig_argv, argc.value)
for f in "Py_GetProgramName", "Py_GetPrefix", "Py_GetPythonHome", "Py_GetProgramFullPath":
    g = getattr(api, f); g.restype = ctypes.c_wchar_p
    print(f, g())
