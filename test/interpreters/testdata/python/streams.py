# The three streams as they are made.
import io, os, stat, sys

for f in sys.stdin, sys.stdout, sys.stderr:
    m = os.fstat(f.fileno()).st_mode
    print(f.name, f.mode, f.encoding, f.errors, repr(f.newlines), f.isatty(), f.closed, stat.S_ISFIFO(m), stat.S_ISCHR(m), os.get_inheritable(f.fileno()), os.get_blocking(f.fileno()))
    print(f is getattr(sys, f"__{f.name.strip('<>')}__"), f.seekable(), f.readable(), f.writable(), repr(f))
