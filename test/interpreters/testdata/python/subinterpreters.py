# A second interpreter in the process.
import _xxsubinterpreters as si, sys

i = si.create()
r, w = __import__("os").pipe()
si.run_string(i, f"""if 1:
    import os, sys
    os.write({w}, repr((sys.argv, __name__, sys.path == {sys.path!r}, len(sys.meta_path), 'sitecustomize' in sys.modules, sys.flags.no_site)).encode())
""")
print(__import__("os").read(r, 4096).decode())
try:
    si.run_string(i, "1 / 0")
except si.RunFailedError as e:
    print(e)
si.destroy(i)
print(si.list_all() == [si.get_main()])
