# ends: exit 1
# An error in a module beside the program.
try:
    import circular
except ImportError as e:
    print(e)
import broken
