# The hook's directory is shown to the program.
import os
print(os.path.isdir("/etc/toolcell"))
