# ends: exit 120
import os, sys
f = os.open("/dev/full", os.O_WRONLY)
print("never seen")
os.dup2(f, 1)
