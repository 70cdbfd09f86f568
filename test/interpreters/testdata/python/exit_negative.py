# ends: exit 255
import sys
print("negative")
sys.exit(-1)
