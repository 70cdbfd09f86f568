# ends: exit 1
"""The program tests itself.

>>> double(4)
8
>>> double("a")
'ab'
>>> __name__
'__main__'
"""
import doctest, sys

def double(x):
    """
    >>> double([1])
    [1, 1]
    >>> 1 / 0
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    """
    return x * 2
sys.exit(doctest.testmod().failed)
