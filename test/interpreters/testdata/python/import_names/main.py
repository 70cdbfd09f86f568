# A module beside the program is its own, and the program can be imported again.
import importlib, sys

import helper
print(helper.where(), helper.__file__, helper.main_name())
import main
print(main is sys.modules["__main__"], main.__name__, importlib.reload(helper) is helper)
import space
print(space.__path__, space.__spec__.origin, space.__file__, sorted(sys.path_importer_cache)[:1])
print([m for m in sys.modules if "helper" in m or m == "space"])
