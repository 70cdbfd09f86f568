# ends: exit 1
# The hint of a name that is misspelt.
counter = 3
print(countr)
