# Resource limits, priority, schedule.
import os, resource

print(open("/proc/self/limits").read())
for n in sorted(n for n in dir(resource) if n.startswith("RLIMIT_")):
    print(n, resource.getrlimit(getattr(resource, n)))
print(os.nice(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, sorted(os.sched_getaffinity(0)))
