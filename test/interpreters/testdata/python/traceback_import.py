# ends: exit 1
# An import that fails shows no frames of the import system.
import json
import no_such_module_here
