# What can be written where.
import errno, os

for path in "/", "/code", "/usr/lib/python3.11", "/etc", "/output", "/tmp", "/dev/shm", os.path.expanduser("~"):
    try:
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "probe"), "w") as f: f.write("x")
        os.remove(os.path.join(path, "probe"))
        print(path, "writable")
    except OSError as e:
        print(path, errno.errorcode[e.errno])
print(sorted(os.listdir("/")), sorted(os.listdir("/dev")), os.path.expanduser("~"))
with open("mode", "w") as f: os.fchmod(f.fileno(), 0o640)
os.symlink("mode", "link"); os.mkdir("dir", 0o711)
