# Memory of two processes.
from multiprocessing import get_context, shared_memory

def write(name):
    m = shared_memory.SharedMemory(name); m.buf[:3] = b"abc"; m.close()
if __name__ == "__main__":
    m = shared_memory.SharedMemory(create=True, size=16)
    p = get_context("fork").Process(target=write, args=(m.name,)); p.start(); p.join()
    print(bytes(m.buf[:4]), m.size)
    m.close(); m.unlink()
