# ends: exit 42
import sys
print("out")
sys.exit(42)
