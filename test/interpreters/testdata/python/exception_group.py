# ends: exit 1
# A tree of errors.
def fail(e):
    raise e

errors = []
for e in [ValueError(1), TypeError("t")]:
    try:
        fail(e)
    except Exception as x:
        errors.append(x)
try:
    raise ExceptionGroup("outer", [*errors, ExceptionGroup("inner", [OSError(2, "no", "f")])])
except* ValueError as g:
    print(repr(g))
