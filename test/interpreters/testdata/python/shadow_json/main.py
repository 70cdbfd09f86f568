# A module of the program's hides one of the library.
import json, sys
print(json.__file__, json.X, hasattr(json, "loads"), "json.decoder" in sys.modules)
