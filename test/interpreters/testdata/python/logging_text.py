# ends: exit 0
# Logs, before and after they are set up.
import logging, sys

logging.warning("last resort %s", 1)
print(logging.root.handlers, logging.getLogger("a.b").parent.name, logging._handlerList == logging._handlerList[:])
logging.getLogger("x").info("never")
logging.basicConfig(level=logging.DEBUG, format="%(name)s:%(levelname)s:%(module)s:%(lineno)d:%(process)d:%(processName)s:%(threadName)s:%(message)s", force=True)
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("a").exception("failed")
logging.getLogger("b").debug("%s %s", 1)
