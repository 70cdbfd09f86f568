# ends: SIGABRT
import os, sys
print("before")
sys.stdout.flush()
os.abort()
