# A fork has what the program has, and its own end.
import atexit, os, sys

atexit.register(print, "at exit of", "the program" if os.getppid() == os.getppid() else "")
x = [1]
pid = os.fork()
if pid == 0:
    x.append(2)
    print("child", x, sys.argv, __name__)
    sys.exit(4)
print("parent", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), x)
print(os.register_at_fork(before=lambda: print("before"), after_in_parent=lambda: print("after")))
pid = os.fork()
if pid == 0:
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
try:
    os.wait()
except ChildProcessError as e:
    print(e)
