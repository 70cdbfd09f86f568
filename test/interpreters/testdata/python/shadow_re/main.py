# ends: exit 1
# A module of the program's breaks one of the library that needs it.
import textwrap
