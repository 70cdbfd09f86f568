# What an import brings with it is what it brings to a fresh interpreter.
import sys

before = set(sys.modules)
import json
print(sorted(set(sys.modules) - before))
before = set(sys.modules)
import random
print(sorted(set(sys.modules) - before))
before = set(sys.modules)
import subprocess
print(sorted(set(sys.modules) - before))
