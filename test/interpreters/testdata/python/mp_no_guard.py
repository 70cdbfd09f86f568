# ends: exit 1
# A program without the guard that spawn needs: its child reads it, and fails.
import multiprocessing as mp, sys
mp.set_start_method("spawn")
def f():
    print("f", flush=True)
try:
    p = mp.Process(target=f); p.start(); p.join()
    print(p.exitcode)
finally:
    sys.stderr = open("/dev/null", "w")
sys.exit(p.exitcode)
