# builtins are as they were.
import builtins

print(len(vars(builtins)))
print(sorted(vars(builtins)))
print([type(getattr(builtins, n)).__name__ for n in ("exit", "quit", "copyright", "credits", "license", "help")])
print("_" in vars(builtins), open is __import__("io").open)
print(exit, quit)
