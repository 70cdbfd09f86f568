# The locale as it is set.
import locale, sys

print(locale.setlocale(locale.LC_ALL, None), locale.getlocale(), locale.getpreferredencoding(), locale.localeconv()["decimal_point"])
print(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.getdefaultencoding(), sys.flags.utf8_mode, locale.getencoding())
print(open(__file__).encoding, locale.nl_langinfo(locale.CODESET))
