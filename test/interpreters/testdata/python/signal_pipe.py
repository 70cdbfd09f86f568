# Writing to a closed pipe is an error, not a death.
import os

r, w = os.pipe()
os.close(r)
try:
    os.write(w, b"x")
except BrokenPipeError as e:
    print(e)
