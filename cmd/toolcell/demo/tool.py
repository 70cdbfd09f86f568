"""A tool such as an agent would call, and what it might do if it had been talked into mischief.

    tool.py report DIRECTORY < sales.csv    compute a report, write it to DIRECTORY/report.json
    tool.py attempt NAME                    try one thing a tool should not do, and say how it went
"""

import csv
import json
import os
import socket
import statistics
import sys
from collections import defaultdict


def report(directory):
    by_region, by_month, units = defaultdict(float), defaultdict(float), defaultdict(list)
    rows = 0
    for row in csv.DictReader(sys.stdin):
        revenue = int(row["units"]) * float(row["price"])
        by_region[row["region"]] += revenue
        by_month[row["date"][:7]] += revenue
        units[row["product"]].append(int(row["units"]))
        rows += 1
    result = {
        "rows": rows,
        "revenue": round(sum(by_region.values()), 2),
        "by_region": {k: round(v, 2) for k, v in sorted(by_region.items(), key=lambda kv: -kv[1])},
        "by_month": {k: round(v, 2) for k, v in sorted(by_month.items())},
        "median_units": {k: statistics.median(v) for k, v in sorted(units.items())},
    }
    path = os.path.join(directory, "report.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(result, f, indent=2)
        f.write("\n")
    print(f"{rows} rows, revenue {result['revenue']:.2f}, best region {next(iter(result['by_region']))}")


def read_file(path):
    with open(path, encoding="utf-8") as f:
        return f"read {len(f.read())} bytes"


def write_file(path):
    with open(path, "w", encoding="utf-8") as f:
        f.write("mischief\n")
    return "written"


def connect(port):
    with socket.create_connection(("127.0.0.1", int(port)), timeout=2) as s:
        return f"connected, got {s.recv(64)!r}"


def see_secret():
    return "found " + os.environ["DEMO_SECRET"]


def see_process(pid):
    return read_file(f"/proc/{pid}/environ")


def kill(pid):
    os.kill(int(pid), 0)
    return "could signal it"


def fork_flood():
    gate, _ = os.pipe()  # nobody ever writes: the children wait
    children = []
    try:
        while len(children) < 5000:
            pid = os.fork()
            if pid == 0:
                os.read(gate, 1)
                os._exit(0)
            children.append(pid)
    except OSError as err:
        raise OSError(err.errno, f"held at {len(children)} processes: {err.strerror}") from err
    return "5000 processes"


def memory():
    blocks = []
    for _ in range(4096):
        blocks.append(bytearray(b"x") * (1 << 20))
    return "took 4 GiB"


def run_dropped():
    path = "/tmp/dropped"
    with open("/bin/true", "rb") as src, open(path, "wb") as dst:
        dst.write(src.read())
    os.chmod(path, 0o755)
    pid = os.posix_spawn(path, [path], {})
    os.waitpid(pid, 0)
    return "ran"


def become_root():
    os.setuid(0)
    return f"uid {os.getuid()}"


ATTEMPTS = {
    "read-file": read_file,
    "write-file": write_file,
    "connect": connect,
    "see-secret": see_secret,
    "see-process": see_process,
    "kill": kill,
    "fork-flood": fork_flood,
    "memory": memory,
    "run-dropped": run_dropped,
    "become-root": become_root,
}


def attempt(name, *args):
    try:
        print("yes:", ATTEMPTS[name](*args))
    except (OSError, KeyError) as err:
        print("no:", getattr(err, "strerror", None) or f"there is no {err.args[0]}")


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"report": report, "attempt": attempt}[command](*arguments)
