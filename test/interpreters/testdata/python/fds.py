# Open descriptors: three, and no more.
import os, stat

fd = os.open("/proc/self/fd", os.O_RDONLY | os.O_DIRECTORY)
names = sorted(int(n) for n in os.listdir(fd))
print([n for n in names if n != fd], fd)
for n in 0, 1, 2:
    s = os.fstat(n)
    flags = [l.split()[1] for l in open(f"/proc/self/fdinfo/{n}") if l.startswith(("flags", "pos"))]
    print(n, stat.S_IFMT(s.st_mode) == stat.S_IFIFO, flags)
print(os.dup(0), open("/dev/null").fileno(), os.pipe())
