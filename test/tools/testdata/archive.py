"""Packs, unpacks and checks archives, and does not follow a name that leads out."""
import hashlib
import io
import os
import tarfile
import tempfile
import zipfile


def archive(count):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "a.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
            for i in range(count):
                z.writestr("dir%d/file%d.txt" % (i % 3, i), "line %d\n" % i * 1000)
            z.writestr("../out.txt", "no")
        with zipfile.ZipFile(path) as z:
            bad = z.testzip()
            names = z.namelist()
            unsafe = [n for n in names if os.path.isabs(n) or ".." in n.split("/")]
            z.extractall(os.path.join(scratch, "out"), [n for n in names if n not in unsafe])
        digest = hashlib.sha256()
        found = 0
        for directory, below, files in os.walk(os.path.join(scratch, "out")):
            below.sort()
            for name in sorted(files):
                found += 1
                with open(os.path.join(directory, name), "rb") as f:
                    digest.update(name.encode() + f.read())
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:xz") as t:
            t.add(os.path.join(scratch, "out"), "out", filter=plain)
        data.seek(0)
        with tarfile.open(fileobj=data) as t:
            packed = sum(m.isfile() for m in t)
        return {"bad": bad, "unsafe": unsafe, "found": found, "packed": packed, "sha256": digest.hexdigest()}


def plain(member):
    member.uid = member.gid = 0
    return member
