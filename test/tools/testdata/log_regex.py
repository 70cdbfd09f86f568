"""What an access log says."""
import collections
import os
import re

LINE = re.compile(
    r'^(?P<ip>\S+) \S+ \S+ \[(?P<when>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>[^ "?]+)[^"]*" (?P<status>\d{3}) (?P<size>\d+|-) (?P<ms>\d+)$'
)


def log_regex(file="access.log"):
    status, paths, times, strange = collections.Counter(), collections.Counter(), [], []
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            m = LINE.match(line.rstrip("\n"))
            if not m:
                strange.append(number)
                continue
            status[m["status"][0] + "xx"] += 1
            paths[re.sub(r"/\d+", "/:id", m["path"])] += 1
            times.append(int(m["ms"]))
    times.sort()
    return {"status": status, "paths": paths.most_common(2), "p95": times[int(len(times) * 0.95)], "strange": strange}
