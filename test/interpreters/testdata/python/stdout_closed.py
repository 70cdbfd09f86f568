# ends: exit 120
# Output that cannot be written at exit is its own exit code.
import os, sys

print("kept back")
os.close(1)
