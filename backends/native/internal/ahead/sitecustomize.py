# Python runs this as the last thing of its start. It waits for the call that this interpreter was started for, takes its
# environment, and leaves nothing behind. A sitecustomize of the machine's own runs first, as it would have.
import os
import sys


def main():
    spec, failure = find(), None
    if spec is not None:
        try:
            run(spec)
        except Exception as e:  # site says so, and goes on
            sys.modules.pop("sitecustomize", None)
            failure = e
    if "TOOLCELL_AHEAD" in os.environ:  # a sub-interpreter has no call to wait for
        wait()
    if failure is not None:
        raise failure
    if spec is None:
        raise ImportError(name="sitecustomize")  # what site passes over when there is none


def find():
    """The machine's own sitecustomize, by the path without this file's directory."""
    here = os.path.dirname(__file__)
    if here in sys.path:
        sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    return sys.modules["_frozen_importlib_external"].PathFinder.find_spec("sitecustomize")


def run(spec):
    module = sys.modules["_frozen_importlib"].module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def wait():
    try:
        before = set(sys.modules)
        for name in os.environ.get("TOOLCELL_PRELOAD", "").split(","):
            if name:
                __import__(name)
        added = set(sys.modules) - before
        pin = "TOOLCELL_PIN" in os.environ
        if added or pin:
            tidy(pin)
        take(int(os.environ["TOOLCELL_AHEAD"]), added)
    except BaseException:
        os._exit(125)


def tidy(pin):
    """What the imports left over is not for the program to find. Pinned, what there is now is never freed nor looked at
    again: the kernel takes it back when the process ends."""
    had = "gc" in sys.modules
    import gc

    gc.collect()
    if pin:
        freeze(gc)
    if pin and not had:
        del sys.modules["gc"]


def freeze(gc):
    main = sys.modules["__main__"]
    ids = {id(o) for o in (main, main.__dict__, sys.modules, sys.stdin, sys.stdout, sys.stderr)} | frames()
    pinned = [o for o in gc.get_objects() if id(o) not in ids]
    pinned.append(pinned)
    gc.freeze()
    # What the program's __main__ refers to has to be seen at the end, so it is not among what is frozen, nor does
    # anything frozen refer to it.
    fresh = type(sys)("__main__")
    fresh.__dict__.update(main.__dict__)
    if "__annotations__" in main.__dict__:
        fresh.__dict__["__annotations__"] = {}
    sys.modules["__main__"] = fresh


def frames():
    """The ids of what is being run, each of which ends before the program begins."""
    ids, frame = set(), sys._getframe(1)
    while frame is not None:
        ids.add(id(frame))
        frame = frame.f_back
    return ids


def take(fd, added):
    """Waits for the call and takes its environment."""
    os.write(fd, b"R")
    head = read(fd, 12)
    if head[:8] != b"toolcell":
        raise ValueError
    call = dict(entries(read(fd, int.from_bytes(head[8:], "big"))))
    # Python itself sets this one in the C locale (PEP 538).
    if b"LC_CTYPE" in os.environb and b"LC_CTYPE" not in call:
        call[b"LC_CTYPE"] = os.environb[b"LC_CTYPE"]
    zone = os.environb.get(b"TZ")
    for environment in os.environb, sys.modules["posix"].environ:
        environment.clear()
        environment.update(call)
    if call.get(b"TZ") != zone:
        set_zone()
    if added and shadowed(added):
        for name in added:
            del sys.modules[name]
    if os.write(fd, b"G") != 1:
        raise OSError
    os.close(fd)


def read(fd, n):
    data = bytearray()
    while len(data) < n:
        part = os.read(fd, n - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def entries(data):
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        name, equals, value = data[at + 4 : end].partition(b"=")
        if end > len(data) or not equals:
            raise ValueError
        yield name, value
        at = end


def set_zone():
    had = "time" in sys.modules
    import time

    time.tzset()
    if not had:
        del sys.modules["time"]


def shadowed(added):
    """Whether a file beside the program, or on its path, has the name of a module that was imported ahead of it."""
    script = sys.argv[0]
    places = [os.path.dirname(os.path.realpath(script)) if os.path.isabs(script) else os.getcwd()]
    places += [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    names = set()
    for place in places:
        try:
            names.update(entry.partition(".")[0] for entry in os.listdir(place))
        except OSError:
            pass
    return any(name.partition(".")[0] in names for name in added)


try:
    main()
finally:
    # Functions and the names they use refer to each other, which the program's first collection of garbage would tell.
    globals().clear()
