# ends: exit 1
print("never")
if True:
print("no indent")
