# ends: exit 0
# Expressions of a console that the program runs.
import code, sys

c = code.InteractiveConsole({"__name__": "console"})
for line in ["x = 1", "x + 1", "_", "def f():", "  return 3", "", "f()", "1/0", "x ="]:
    print(line, c.push(line))
print(hasattr(__builtins__, "_"))
