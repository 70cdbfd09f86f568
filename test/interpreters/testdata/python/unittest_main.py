# ends: exit 1
# The program's tests, found in its own module.
import re, sys, unittest

class Shown:
    def __init__(self, to): self.to = to
    def write(self, s): self.to.write(re.sub(r"in \d\.\d+s", "in a moment", s))
    def flush(self): self.to.flush()
sys.stderr = Shown(sys.__stderr__)
class T(unittest.TestCase):
    def test_ok(self): self.assertEqual(1, 1)
    def test_bad(self): self.assertEqual({"a": 1}, {"a": 2})
    def test_error(self): 1 / 0
    @unittest.skip("why")
    def test_skipped(self): pass
    def test_sub(self):
        for n in range(2):
            with self.subTest(n=n): self.assertFalse(n)
unittest.main(verbosity=2)
