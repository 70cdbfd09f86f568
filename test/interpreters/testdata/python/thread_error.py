# ends: exit 0
# The text of an error in a thread.
import threading

def fail(n):
    return 1 / n
t = threading.Thread(target=fail, args=(0,), name="worker")
t.start(); t.join()
def hook(args):
    print(args.exc_type.__name__, args.exc_value, args.thread.name, args.exc_traceback.tb_next.tb_lineno)
threading.excepthook = hook
t = threading.Thread(target=fail, args=(0,), name="hooked")
t.start(); t.join()
