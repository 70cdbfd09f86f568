# What the kernel says of the process.
import os

print(open("/proc/self/cmdline", "rb").read().split(b"\0"))
print(open("/proc/self/comm").read(), os.readlink("/proc/self/exe"), os.readlink("/proc/self/cwd"), os.readlink("/proc/self/root"))
status = dict(l.rstrip("\n").split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
for k in ["Name", "Umask", "State", "Uid", "Gid", "Groups", "Threads", "NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "NSpid", "NSpgid", "NSsid"]:
    print(k, status.get(k))
print(open("/proc/self/oom_score_adj").read())
