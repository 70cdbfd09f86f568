# ends: SIGINT
# SIGINT is KeyboardInterrupt, and then the signal again.
import os, signal
def f():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100):
        pass
f()
