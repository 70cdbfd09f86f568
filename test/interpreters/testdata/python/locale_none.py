# A locale that is not there.
import locale, os, sys
print(os.environ.get("LC_CTYPE"), os.environ.get("LANG"), sys.flags.utf8_mode, locale.setlocale(locale.LC_CTYPE, None), sys.getfilesystemencoding())
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error as e:
    print(e)
