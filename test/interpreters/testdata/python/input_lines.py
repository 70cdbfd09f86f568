# ends: exit 1
# Lines by input(), until there are no more.
print(input("name? "))
print(repr(input()))
import sys
print(repr(sys.stdin.readline()))
input("none left: ")
input()
input()
