# ends: exit 0
# Warnings, which are shown once and in which module.
import sys, warnings

print(warnings.filters[0][0], len(warnings.filters), sys.warnoptions)
for n in range(2):
    warnings.warn("own")
    warnings.warn("deprecated", DeprecationWarning)
warnings.warn("one below", stacklevel=2)
warnings.warn("pending", PendingDeprecationWarning)
warnings.warn("resource", ResourceWarning)
warnings.warn_explicit("explicit", UserWarning, "file.py", 3)
print(sorted(k for k in globals()["__warningregistry__"] if k != "version"))
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    open("/dev/null")
    print([str(x.category.__name__) for x in w])
