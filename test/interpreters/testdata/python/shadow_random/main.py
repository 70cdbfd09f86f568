# Those that the program hides, directly and through others.
import random, datetime, collections
print(random.choice("abc"), datetime.__file__, collections.__file__.startswith("/usr"), collections.namedtuple("P", "x")(1))
import tempfile
print(tempfile._Random is random.Random)
