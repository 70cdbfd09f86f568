# ends: SIGABRT
# The fault handler shows the program's frames and no others.
import faulthandler, os, sys
print(faulthandler.is_enabled())
faulthandler.enable()
def f():
    os.abort()
f()
