"""Fills a database on the scratch and asks it."""
import os
import sqlite3
import tempfile


def sqlite_report(rows):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "report.db")
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE sale (day INTEGER, shop TEXT, cents INTEGER CHECK (cents >= 0))")
        with db:
            db.executemany(
                "INSERT INTO sale VALUES (?, ?, ?)",
                ((i % 30, "shop %d" % (i % 7), (i * 7919) % 10007) for i in range(rows)),
            )
        try:
            with db:
                db.execute("INSERT INTO sale VALUES (1, 'bad', -1)")
            kept = "a negative amount was kept"
        except sqlite3.IntegrityError:
            kept = "the check held"
        db.execute("CREATE INDEX by_shop ON sale (shop, day)")
        best = db.execute(
            "WITH t AS (SELECT shop, day, SUM(cents) AS s FROM sale GROUP BY shop, day) "
            "SELECT shop, day, s FROM (SELECT *, RANK() OVER (PARTITION BY shop ORDER BY s DESC, day) AS r FROM t) "
            "WHERE r = 1 ORDER BY s DESC, shop LIMIT 3"
        ).fetchall()
        count, total = db.execute("SELECT COUNT(*), SUM(cents) FROM sale").fetchone()
        intact = db.execute("PRAGMA integrity_check").fetchone()[0]
        db.close()
        return {"count": count, "total": total, "best": best, "check": kept, "intact": intact, "files": sorted(os.listdir(scratch))}
