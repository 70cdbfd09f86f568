"""Several processes: a pool, a queue, a lock and shared memory."""
import concurrent.futures
import multiprocessing
import multiprocessing.shared_memory


def primes(limits):
    low, high = limits
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(max(low, 2), high))


def fill(name, lock, part, done):
    memory = multiprocessing.shared_memory.SharedMemory(name)
    with lock:
        memory.buf[0] += 1
        memory.buf[part + 1] = part * 10
    memory.close()
    done.put(part)


def pool(upto, workers):
    step = upto // 4
    with concurrent.futures.ProcessPoolExecutor(workers) as executor:
        count = sum(executor.map(primes, [(i * step, (i + 1) * step) for i in range(4)]))
    context = multiprocessing.get_context("fork")
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=64)
    lock, done = context.Lock(), context.Queue()
    processes = [context.Process(target=fill, args=(memory.name, lock, part, done)) for part in range(workers)]
    for p in processes:
        p.start()
    finished = sorted(done.get(timeout=60) for _ in processes)
    for p in processes:
        p.join()
    shared = list(memory.buf[: workers + 1])
    memory.close()
    memory.unlink()
    return {"primes": count, "finished": finished, "shared": shared, "codes": [p.exitcode for p in processes]}
