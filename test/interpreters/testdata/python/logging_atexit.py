# Handlers are flushed and closed at the end.
import logging, logging.handlers

class H(logging.Handler):
    def emit(self, record): print("emit", record.getMessage())
    def flush(self): print("flush")
    def close(self): print("close"); super().close()
h = logging.handlers.MemoryHandler(10, target=H())
logging.getLogger().addHandler(h)
logging.warning("kept")
print("end")
