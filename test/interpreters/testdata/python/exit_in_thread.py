# sys.exit in a thread ends the thread.
import sys, threading

def f():
    sys.exit(9)
t = threading.Thread(target=f)
t.start()
t.join()
print("alive")
