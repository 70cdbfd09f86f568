# How the interpreter was started, as it sees it.
import sys

print(sys.flags)
print(sys.warnoptions, sys._xoptions, sys.hash_info.algorithm, sys.byteorder, sys.maxsize)
print(sys.implementation.name, sys.implementation.cache_tag, sys.api_version, sys.version_info[:2])
print(sys.hexversion == sys.implementation.hexversion, sys.float_info.max, sys.int_info)
