# Where temporary files are made, and how they are called.
import os, tempfile

print(tempfile.gettempdir(), tempfile.gettempprefix(), os.listdir("/tmp"))
d = tempfile.mkdtemp()
print(os.path.dirname(d), len(os.path.basename(d)), oct(os.stat(d).st_mode), os.listdir("/tmp") == [os.path.basename(d)])
with tempfile.NamedTemporaryFile(delete=False) as f: print(oct(os.stat(f.name).st_mode), f.mode)
with tempfile.TemporaryFile() as f: print(isinstance(f.name, int))
