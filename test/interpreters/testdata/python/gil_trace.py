# Trace and profile functions are the program's own.
import sys, threading

print(sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())
events = []
def tracer(frame, event, arg):
    if frame.f_code.co_filename == __file__:
        events.append((event, frame.f_code.co_name, frame.f_lineno))
    return tracer
def f(n):
    n += 1
    return n
sys.settrace(tracer); f(1); sys.settrace(None)
print(events)
calls = []
sys.setprofile(lambda frame, event, arg: calls.append((event, frame.f_code.co_name, getattr(arg, "__name__", arg))))
len("x"); f(2)
sys.setprofile(None)
print(calls)
