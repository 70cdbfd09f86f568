# ends: exit 5
# Nothing is written or run after os._exit.
import atexit, os, sys

atexit.register(print, "never")
sys.stdout.write("kept back ")
os.write(1, b"at once\n")
os._exit(5)
