# A submodule that nobody has imported is no attribute of its package.
import importlib, os, xml, concurrent, logging

for module, name in [(importlib, "util"), (importlib, "resources"), (xml, "dom"), (concurrent, "futures"), (logging, "handlers")]:
    print(module.__name__, name, hasattr(module, name))
