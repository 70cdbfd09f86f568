# ends: exit 7
# exit() closes the standard input first.
print("out")
import sys
try:
    exit(7)
except SystemExit as e:
    print(sys.stdin.closed, e.code)
    raise
