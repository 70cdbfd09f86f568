# Daemons end with the program.
import threading, time

started = threading.Event()
def forever():
    started.set()
    while True:
        time.sleep(0.001)
for _ in range(3):
    started.clear()
    threading.Thread(target=forever, daemon=True).start()
    started.wait()
print(threading.active_count(), [t.daemon for t in threading.enumerate()])
