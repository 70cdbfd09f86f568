# What every signal does, and which are blocked or pending.
import signal

for s in sorted(signal.valid_signals()):
    h = signal.getsignal(s)
    print(int(s), getattr(h, "__name__", h))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending(), signal.getitimer(signal.ITIMER_REAL))
for line in open("/proc/self/status"):
    if line.startswith(("Sig", "Shd")) and not line.startswith("SigQ"):
        print(line.strip())
