# ends: exit 1
print("never")
x = "not closed
