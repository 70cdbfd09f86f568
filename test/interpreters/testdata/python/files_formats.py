# Formats of the library.
import bz2, configparser, csv, gzip, io, json, lzma, tarfile, xml.etree.ElementTree as E, zipfile, zlib, html, tomllib

w = io.StringIO(); csv.writer(w).writerows([["a", 'b"c'], [1, "x,y"]]); print(repr(w.getvalue()), list(csv.DictReader(io.StringIO("a,b\n1,2\n"))))
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z: z.writestr(zipfile.ZipInfo("n", (2020, 1, 1, 0, 0, 0)), b"x" * 1000)
print(zipfile.ZipFile("a.zip").read("n")[:3], len(open("a.zip", "rb").read()))
for m in gzip, bz2, lzma, zlib: print(m.__name__, m.decompress(m.compress(b"text" * 100)) == b"text" * 100)
print(json.dumps({"é": [1, None, 2.5]}), json.loads("[1e3, NaN]"), E.tostring(E.fromstring("<a b='c'>d</a>")), tomllib.loads("a = 1"))
c = configparser.ConfigParser(); c.read_string("[s]\nk = %(d)s\nd = 3\n"); print(c["s"]["k"], html.escape("<&>"))
