# ends: SIGKILL
import os, signal
print("before")
os.kill(os.getpid(), signal.SIGKILL)
