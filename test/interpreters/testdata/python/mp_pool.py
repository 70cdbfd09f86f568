# A pool of processes.
import multiprocessing as mp

def square(n): return n * n
def fail(n): raise ValueError(n)
if __name__ == "__main__":
    with mp.get_context("fork").Pool(2) as p:
        print(p.map(square, range(6)))
        try:
            p.apply(fail, (3,))
        except ValueError as e:
            print(repr(e), type(e.__cause__).__name__)
            print(str(e.__cause__))
    v = mp.Value("i", 3); v.value += 1
    print(v.value, mp.Array("d", [1, 2])[:])
