# ends: exit 1
# A program can shorten its traceback.
import sys

sys.tracebacklimit = 1
def f(): g()
def g(): h()
def h(): raise RuntimeError("short")
f()
