# A module that was imported ahead is there.
import sys
print("json" in sys.modules)
