# ends: exit 1
# Modules and packages beside the program.
import beside
import package
import package.inner as inner
from package import *
print(Y, inner.Y, package.inner is inner, beside.__loader__.path)
from . import beside as again
