import sys
for f in sys.stdin, sys.stdout, sys.stderr:
    print(f.encoding, f.errors)
print("caf\u00e9 \u20ac")
