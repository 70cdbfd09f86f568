# Nesting in the library's own code.
import ast, json
for text in ["[" * 100000, "{\"a\":" * 100000]:
    try:
        json.loads(text)
    except RecursionError as e:
        print(e)
try:
    compile("(" * 300 + ")" * 300, "c", "eval")
except (SyntaxError, MemoryError, RecursionError) as e:
    print(type(e).__name__, e)
r = []; r.append(r); print(r)
