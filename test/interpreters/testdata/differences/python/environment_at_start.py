# The kernel's copy of the environment is that of the start; see also environ_libc.py of the corpus.
print(b"\0LATE=" in b"\0" + open("/proc/self/environ", "rb").read())
