# multiprocessing by fork.
import multiprocessing as mp, os, sys

seen = []
def f(q, n):
    q.put((n * n, __name__, sys.argv, mp.current_process().name, mp.parent_process().name, len(seen)))
if __name__ == "__main__":
    ctx = mp.get_context("fork")
    seen.append(1)
    print(mp.get_start_method(allow_none=True), mp.get_all_start_methods(), mp.current_process().name)
    q = ctx.Queue()
    p = ctx.Process(target=f, args=(q, 7)); p.start()
    print(q.get()); p.join()
    print(p.exitcode, repr(p.name))
    p = ctx.Process(target=sys.exit, args=(3,)); p.start(); p.join(); print(p.exitcode)
    p = ctx.Process(target=os.abort); p.start(); p.join(); print(p.exitcode)
    print(mp.active_children())
