# An interpreter that the program starts is an ordinary one.
import subprocess, sys

code = "import sys; print(sys.argv, sys.orig_argv, sys.path, len(sys.modules), sys.flags.isolated, sorted(sys.modules)[-3:])"
for args in [["-c", code, "x"], ["-I", "-c", code], ["-m", "no.such.module"]]:
    p = subprocess.run([sys.executable, *args], capture_output=True, text=True)
    print(args[0], p.returncode, p.stdout, p.stderr, sep="\n")
