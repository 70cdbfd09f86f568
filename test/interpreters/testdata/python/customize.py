# The modules that site looks for.
import importlib.util, sys

for name in "sitecustomize", "usercustomize", "apport_python_hook":
    print(name, name in sys.modules)
    spec = importlib.util.find_spec(name)
    print(spec and spec.origin)
import sitecustomize as s
print(sorted(k for k in vars(s) if not k.startswith("__")), s.__name__, s.__file__ == s.__spec__.origin)
