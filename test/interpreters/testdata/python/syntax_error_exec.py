# The attributes of syntax errors.
for code in ["x = (1,", "f'{a b}'", "return", "a = 1 = b", "for", "def f():\nx", "0777", "print 1", "\u20ac"]:
    try:
        compile(code, "<c>", "exec")
    except SyntaxError as e:
        print(type(e).__name__, e.msg, e.filename, e.lineno, e.offset, e.text, e.end_lineno, e.end_offset)
