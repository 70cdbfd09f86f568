# An executor of processes, and one whose process dies.
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import os

def square(n): return n * n
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as p:
        print(list(p.map(square, range(6), chunksize=3)))
        try:
            p.submit(os._exit, 3).result()
        except BrokenProcessPool as e:
            print(e)
