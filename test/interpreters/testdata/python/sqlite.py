# A database in memory and in a file.
import sqlite3

for where in ":memory:", "f.db":
    c = sqlite3.connect(where)
    c.execute("create table t (a integer primary key, b text, c real, d blob)")
    c.executemany("insert into t (b, c, d) values (?, ?, ?)", [("é", 1.5, b"\0"), (None, 2, b"")])
    c.create_function("twice", 1, lambda x: x * 2)
    print(c.execute("select a, b, c, d, twice(a) from t order by a desc").fetchall())
    c.commit(); c.close()
try:
    sqlite3.connect("/code/no.db")
except sqlite3.OperationalError as e:
    print(e)
__import__("os").remove("f.db")
