# ends: exit 3
# What a buffer holds is lost with os._exit.
import os
print("x" * 8000)
print("y" * 1000)
os._exit(3)
