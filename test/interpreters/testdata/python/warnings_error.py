# ends: exit 1
# A filter of the environment's makes warnings errors.
import sys, warnings
print(sys.warnoptions)
warnings.warn("own", UserWarning)
