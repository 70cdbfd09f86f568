# ends: exit 1
# A text goes to standard error.
import sys
print("out")
sys.exit("the text é")
