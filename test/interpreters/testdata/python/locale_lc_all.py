# LC_ALL=C is not coerced: the interpreter is in UTF-8 mode.
import locale, os, sys
print(os.environ.get("LC_CTYPE"), os.environ.get("LC_ALL"), sys.flags.utf8_mode, sys.stdout.encoding, sys.stdout.errors, sys.stdin.errors)
print(locale.setlocale(locale.LC_CTYPE, None), sys.getfilesystemencoding(), "é €")
