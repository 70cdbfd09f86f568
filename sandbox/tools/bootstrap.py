# Runs one function of a tool. Its arguments come as JSON on stdin; what it returns is all that goes to stdout, a string as it
# is and everything else as JSON. Whatever else is written to stdout, by the tool, a library or another program, goes to stderr.
import sys

# The working directory may be anybody's, so nothing is imported from it.
if sys.path and sys.path[0] == "":
    del sys.path[0]

import importlib.machinery
import importlib.util
import json
import os


def main(kind, path, function, *places):
    result_to = os.dup(1)
    os.dup2(2, 1)
    # A line is one write, so that what threads and processes print and log stays in lines.
    sys.stdout.reconfigure(line_buffering=True, write_through=False)
    sys.argv = [path]
    name = module_name(path)
    find_beside(places)
    arguments = json.loads(sys.stdin.buffer.read())
    call = getattr(load(kind, name, path), function, None)
    if not callable(call):
        sys.exit("%s has no function %s" % (os.path.basename(path), function))
    result = call(arguments) if kind == "inline" else call(**arguments)
    if hasattr(result, "__await__"):
        import asyncio

        result = asyncio.run(finish(result))
    if not isinstance(result, str):
        result = json.dumps(result)
    sys.stdout.flush()
    with open(result_to, "wb") as out:
        out.write(encode(result))


def module_name(path):
    """The file's own name, so that what the tool defines can be found by it, unless another module has that name."""
    name = os.path.splitext(os.path.basename(path))[0]
    free = name.isidentifier() and name not in sys.modules and importlib.util.find_spec(name) is None
    return name if free else "tool"


def find_beside(places):
    """Modules beside the tool are found before installed ones, and never in place of Python's own."""
    installed = [i for i, p in enumerate(sys.path) if "site-packages" in p or "dist-packages" in p]
    at = installed[0] if installed else len(sys.path)
    sys.path[at:at] = places


def load(kind, name, path):
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    if kind == "inline":
        # Models write these words of JSON into Python.
        module.null, module.true, module.false = None, True, False
    sys.modules[name] = module
    loader.exec_module(module)
    return module


async def finish(awaitable):
    return await awaitable


def encode(text):
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


main(*sys.argv[1:])
