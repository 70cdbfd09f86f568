# The process is older than its program, so all that counts from its start does: ps, and the CPU time.
import os, time
ticks = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[19])
age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
print(age > time.time() - os.stat(__file__).st_mtime + 0.05)
