# The program's source, as it finds it itself.
import inspect, linecache, sys, tokenize

def f(a, /, b: int = 2, *c, d, **e) -> str:
    """A docstring."""
    return inspect.currentframe().f_lineno

print(inspect.getsource(f), inspect.getsourcefile(f), inspect.getsourcelines(f)[1], inspect.getdoc(f), inspect.signature(f))
print(inspect.getmodule(f), inspect.getfile(sys.modules["__main__"]), inspect.getcomments(f), f(1, d=2))
print(linecache.getline(__file__, 1), len(inspect.getsource(sys.modules["__main__"])) > 100)
print([i.function for i in inspect.stack()], inspect.trace())
print(next(tokenize.generate_tokens(open(__file__).readline)).string, f.__code__.co_filename, f.__module__, f.__qualname__)
