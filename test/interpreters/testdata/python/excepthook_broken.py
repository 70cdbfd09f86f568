# ends: exit 1
# A hook that fails itself.
import sys

def hook(kind, value, tb):
    raise RuntimeError("in the hook")
sys.excepthook = hook
raise ValueError("first")
