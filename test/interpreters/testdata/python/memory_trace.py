# Tracing of memory starts when the program starts it.
import tracemalloc, sys

print(tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())
tracemalloc.start(3)
x = [bytes(1000) for _ in range(10)]
s = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print([(t.traceback[0].lineno, t.count >= 10) for t in s.statistics("lineno")][:1])
tracemalloc.stop()
print(sys.getallocatedblocks() > 0)
