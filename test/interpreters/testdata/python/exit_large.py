# ends: exit 1
# A number is cut to eight bits.
import sys
print("cut")
sys.exit(257)
