# A program can catch KeyboardInterrupt and go on.
import os, signal, time

try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
except KeyboardInterrupt as e:
    print("caught", repr(e), e.__traceback__.tb_next)
old = signal.signal(signal.SIGINT, signal.SIG_DFL)
print(old is signal.default_int_handler)
