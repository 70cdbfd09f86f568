# A pool of threads that is never shut down ends with the program.
from concurrent.futures import ThreadPoolExecutor, as_completed
import threading

p = ThreadPoolExecutor(2, thread_name_prefix="pool")
print(list(p.map(lambda n: n * n, range(5))))
print(sorted(f.result() for f in as_completed([p.submit(pow, n, 2) for n in range(3)])))
f = p.submit(lambda: 1 / 0)
print(repr(f.exception()))
p.submit(print, "from a thread").result()
print(sorted(t.name for t in threading.enumerate())[0])
