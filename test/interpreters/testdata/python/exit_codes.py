# ends: exit 0
# Every form of sys.exit has its exit code and its text.
import os, sys

for form in ["", "None", "0", "3", "256", "-1", "True", "'text'", "2.5", "(1, 2)", "[]", "2**40", "Exception('e')", "b'x'"]:
    pid = os.fork()
    if pid == 0:
        eval(f"sys.exit({form})")
    print(form, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
