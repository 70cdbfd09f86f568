# Where modules are looked for.
import site, sys

print(sys.path)
print(sys.path[0], sys.prefix, sys.exec_prefix, sys.base_prefix, sys.executable)
print(site.ENABLE_USER_SITE, site.USER_SITE, site.USER_BASE, site.PREFIXES)
print(sys.platlibdir, sys.pycache_prefix, sys.dont_write_bytecode)
