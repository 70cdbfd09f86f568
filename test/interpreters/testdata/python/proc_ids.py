# Process, parent, group, session, terminal, user.
import grp, os, pwd

print(os.getpid(), os.getppid(), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(), os.getpgrp(), os.getsid(0))
print(os.getresuid(), os.getresgid(), os.getgroups(), os.umask(0o77) == 0o22, pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid()))
for f in "os.tcgetpgrp(0)", "open('/dev/tty')", "os.ttyname(1)", "os.get_terminal_size()":
    try:
        print(eval(f))
    except OSError as e:
        print(f, e)
