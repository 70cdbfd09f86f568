from . import Y
try:
    from .. import nothing
except ImportError as e:
    print(e)
