# Works for ever, with a child that does so too, and does not stop when asked.
import signal
import subprocess
import sys
import time

for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.1)", "toolcell-long-running-child"])
print("started", flush=True)
while True:
    time.sleep(0.1)
