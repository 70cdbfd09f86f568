# multiprocessing by spawn: a child starts its interpreter anew, and reads the program as __mp_main__.
import multiprocessing as mp, sys

def f(c, n):
    c.send((n * n, __name__, sys.argv, sys.modules["__main__"] is sys.modules["__mp_main__"], sys.path[0], sys.flags.dont_write_bytecode))
if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    a, b = ctx.Pipe()
    p = ctx.Process(target=f, args=(b, 7)); p.start()
    print(a.recv()); p.join()
    print(p.exitcode, mp.spawn.get_executable(), mp.process.ORIGINAL_DIR)
