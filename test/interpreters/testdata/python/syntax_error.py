# ends: exit 1
# Nothing of a program that cannot be read is run.
print("never")
def f(:
    pass
