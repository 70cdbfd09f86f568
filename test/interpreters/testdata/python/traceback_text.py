# ends: exit 1
# The text of an error, with its causes.
class Own(Exception):
    """An error of the program's own."""

def a(n):
    if n:
        return a(n - 1)
    raise Own("deep", n)

def b():
    try:
        a(3)
    except Own as e:
        raise KeyError("b") from e

def c():
    try:
        b()
    except KeyError:
        return 1 / 0

c()
