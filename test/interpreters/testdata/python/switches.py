# ends: exit 0
# Switches of the environment.
import locale, sys
print(sys.flags.utf8_mode, sys.flags.dev_mode, sys.flags.optimize, sys.flags.warn_default_encoding, sys.warnoptions)
open(__file__)
assert False, "not with -O"
