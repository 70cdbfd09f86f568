# ends: SIGINT
# One that is raised by hand ends like the signal.
import atexit
atexit.register(print, "at exit")
raise KeyboardInterrupt("by hand")
