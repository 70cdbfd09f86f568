# ends: SIGALRM
import signal, time
print("before")
signal.setitimer(signal.ITIMER_REAL, 0.001)
time.sleep(30)
