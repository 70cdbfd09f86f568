# ends: exit 1
# Frames that are dumped from another thread.
import faulthandler, sys, threading

def f():
    ready.set(); done.wait()
ready, done = threading.Event(), threading.Event()
t = threading.Thread(target=f); t.start(); ready.wait()
faulthandler.dump_traceback(all_threads=False)
done.set(); t.join()
faulthandler.dump_traceback_later(0.001, exit=True, file=open("dump", "w"))
t.join(); threading.Event().wait()
