# ends: exit 1
# Frames that repeat are counted.
import sys
sys.setrecursionlimit(120)

def forever(n):
    return forever(n + 1)

forever(0)
