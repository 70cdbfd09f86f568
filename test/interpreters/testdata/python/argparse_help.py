# ends: exit 2
# The program's name in its usage, and the exit code of a wrong use.
import argparse

p = argparse.ArgumentParser(description="d", epilog="e")
p.add_argument("-n", type=int, default=3, help="how many (%(default)s)")
p.print_help()
print(p.parse_args(["-n", "4"]))
p.parse_args()
