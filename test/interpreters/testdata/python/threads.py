# Threads, their names and numbers.
import threading, sys

main = threading.main_thread()
print(main.name, main.ident == threading.get_ident(), main.daemon, threading.active_count(), threading.enumerate() == [main])
print(main.native_id == __import__("os").getpid(), main is threading.current_thread(), sys.getswitchinterval(), threading.stack_size())
names = []
ts = [threading.Thread(target=lambda: names.append(threading.current_thread().name)) for _ in range(3)]
for t in ts:
    t.start(); t.join()
print(names, [t.name for t in ts])
def f(): pass
t = threading.Thread(target=f); print(t.name, t.ident, repr(t))
lock = threading.RLock()
with lock, lock:
    print("twice")
