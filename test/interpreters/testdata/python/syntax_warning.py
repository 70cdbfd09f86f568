# ends: exit 0
# The compiler's warnings name the program and its line.
x = 1
print(x is 1)
assert (x, "always true")
print("\d")
