# multiprocessing by a server that forks.
import multiprocessing as mp, os, sys

def f(c, n):
    c.send((n * n, __name__, sys.argv[0], os.getcwd(), sorted(k for k in os.environ if k.startswith("PYTHON"))))
if __name__ == "__main__":
    ctx = mp.get_context("forkserver")
    a, b = ctx.Pipe()
    p = ctx.Process(target=f, args=(b, 7)); p.start()
    print(a.recv()); p.join()
    print(p.exitcode)
