# What the interpreter says of itself and of the machine.
import platform, site, sys, sysconfig

print(platform.python_implementation(), sysconfig.get_path("stdlib"), sysconfig.get_platform(), platform.system(), platform.machine())
print(site.getsitepackages(), site.getusersitepackages(), sys.version.split()[0], sys.copyright[:13])
print(platform.node(), bool(platform.release()))
