# There is no frame below the program's.
import inspect, sys, traceback

f = sys._getframe()
print(f.f_back, f.f_code.co_name, f.f_code.co_filename, f.f_lineno, f.f_globals is globals(), f.f_locals is globals())
try:
    sys._getframe(1)
except ValueError as e:
    print(e)
print(len(inspect.stack()), len(traceback.extract_stack()), [s.filename for s in inspect.stack()])
def g():
    traceback.print_stack(file=sys.stdout)
    return [s.function for s in inspect.stack()]
print(g())
print(list(sys._current_frames().values())[0].f_back)
