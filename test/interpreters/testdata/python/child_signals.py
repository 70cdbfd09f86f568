# A child starts with the dispositions of a fresh one.
import subprocess, sys

code = "import signal; print([int(s) for s in sorted(signal.valid_signals()) if signal.getsignal(s) is signal.SIG_IGN])"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout, end="")
print(subprocess.run(["grep", "^Sig[BIC]", "/proc/self/status"], capture_output=True, text=True).stdout, end="")
print(subprocess.run(["sh", "-c", "kill -TERM $$"]).returncode)
