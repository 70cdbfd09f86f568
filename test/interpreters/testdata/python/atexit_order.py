# Functions at exit run last in, first out, after the non-daemon threads.
import atexit, threading

print(atexit._ncallbacks())
atexit.register(print, "first registered")
@atexit.register
def second():
    print("second registered", threading.active_count())
    atexit.register(print, "registered while running")
def late():
    threading.main_thread().join()
    print("thread")
threading.Thread(target=late).start()
print("end of main")
