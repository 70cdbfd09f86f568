# Blocked signals are waited for.
import os, signal, threading

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR2)).start()
info = signal.sigwaitinfo([signal.SIGUSR1, signal.SIGUSR2])
print(signal.Signals(info.si_signo).name, info.si_pid == os.getpid(), info.si_uid == os.getuid())
r, w = os.pipe()
os.set_blocking(w, False)
print(signal.set_wakeup_fd(w))
