# Tracing by a debugger sees the program's frames alone.
import bdb

def f(n):
    total = 0
    for i in range(n):
        total += i
    return total
class D(bdb.Bdb):
    def user_line(self, frame):
        if frame.f_code.co_filename == __file__:
            print(frame.f_code.co_name, frame.f_lineno, frame.f_back and frame.f_back.f_code.co_name)
d = D()
print(d.runcall(f, 2))
d.run("x = f(1)", globals())
print(x)
