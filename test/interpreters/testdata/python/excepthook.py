# ends: exit 1
# The program's own hook for errors.
import sys

print(sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__, sys.displayhook is sys.__displayhook__)
def hook(kind, value, tb):
    print("hook", kind.__name__, value, tb.tb_lineno, tb.tb_next)
sys.excepthook = hook
raise ValueError("seen")
