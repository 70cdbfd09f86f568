# ends: exit 1
# Code without a file has no source in its traceback.
code = "def f():\n    return 1 / 0\nf()\n"
exec(compile(code, "<made>", "exec"), {"__name__": "made"})
