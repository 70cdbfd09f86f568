# ends: exit 1
# Notes of an error, and marks below the part that failed.
def f(x):
    return x["a"]["b"] + x["c"][0].attribute

try:
    f({"a": {"b": 1}, "c": [None]})
except AttributeError as e:
    e.add_note("a note\nof two lines")
    raise
