# Locals of threads, and context variables.
import contextvars, threading

l = threading.local(); l.x = 1
v = contextvars.ContextVar("v", default="none"); v.set("main")
print(list(contextvars.copy_context().items()) == [(v, "main")])
def f():
    print(getattr(l, "x", "none"), v.get())
for target in f, lambda: contextvars.copy_context().run(f):
    t = threading.Thread(target=target); t.start(); t.join()
print(contextvars.copy_context().run(lambda: v.get()), l.x)
