# A search path of the environment.
import os, sys
print(sys.path, os.environ["PYTHONPATH"])
import subprocess
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.path[:4])"], capture_output=True, text=True).stdout)
