# ends: SIGTERM
import os, signal
print("before")
os.kill(os.getpid(), signal.SIGTERM)
