# Handlers run in the main thread, between its instructions.
import os, signal, threading

got = []
def handler(number, frame):
    got.append((signal.Signals(number).name, threading.current_thread() is threading.main_thread(), frame.f_code.co_name))
for s in signal.SIGUSR1, signal.SIGHUP, signal.SIGCHLD, signal.SIGWINCH:
    signal.signal(s, handler)
def main():
    for s in signal.SIGUSR1, signal.SIGHUP, signal.SIGWINCH:
        os.kill(os.getpid(), s)
main()
print(got)
