# After a fork the locks of the interpreter work.
import logging, os, random, threading

logging.basicConfig(format="%(levelname)s %(message)s", stream=__import__("sys").stdout)
random.seed(3)
first = random.random()
pid = os.fork()
if pid == 0:
    logging.warning("child %s", threading.main_thread() is threading.current_thread())
    t = threading.Thread(target=print, args=("thread of the child",)); t.start(); t.join()
    os._exit(0)
os.waitpid(pid, 0)
logging.warning("parent %s", threading.active_count())
