# Facts of what the program used.
import os, resource, time

u = resource.getrusage(resource.RUSAGE_SELF)
print(0 < u.ru_maxrss < 1 << 20, u.ru_utime + u.ru_stime <= time.process_time() + 1, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(os.times().children_user, time.thread_time() <= time.process_time(), time.monotonic() <= time.monotonic())
print(time.get_clock_info("perf_counter").implementation, resource.getpagesize())
