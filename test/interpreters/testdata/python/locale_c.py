# The C locale is coerced, which a program can see in its environment (PEP 538).
import locale, os, subprocess, sys

print(os.environ.get("LC_CTYPE"), os.environ.get("LANG"), os.environ.get("LC_ALL"), sys.flags.utf8_mode)
print(locale.setlocale(locale.LC_CTYPE, None), sys.getfilesystemencoding(), sys.stdout.encoding, sys.stdin.errors, locale.getpreferredencoding())
print(subprocess.run(["env"], capture_output=True).stdout.count(b"LC_CTYPE=C.UTF-8"), [k for k in os.environ if k.startswith("L")])
