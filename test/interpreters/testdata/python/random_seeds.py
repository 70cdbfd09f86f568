# Random numbers of a given seed, and those of none.
import os, random, secrets, subprocess, sys, tempfile, uuid

print(random.random() != random.Random().random())
random.seed(7)
print(random.random(), random.sample(range(100), 4), random.choices("abc", k=4))
code = "import tempfile, uuid, os; print(next(tempfile._get_candidate_names()), uuid.uuid4(), os.urandom(8), sep='\\n')"
other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()
print([str(a) == b for a, b in zip([next(tempfile._get_candidate_names()), uuid.uuid4(), os.urandom(8)], other)])
print(len(secrets.token_hex(8)), len(os.getrandom(4)))
