"""A pipeline of programs, as a shell makes it, and one that fails in the middle."""
import subprocess


def pipeline(words):
    first = subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    second = subprocess.Popen(["uniq", "-c"], stdin=first.stdout, stdout=subprocess.PIPE)
    third = subprocess.Popen(["sort", "-k1,1nr", "-k2"], stdin=second.stdout, stdout=subprocess.PIPE, text=True)
    first.stdout.close()
    second.stdout.close()
    first.stdin.write("".join(w + "\n" for w in words).encode())
    first.stdin.close()
    out, _ = third.communicate()
    codes = [p.wait() for p in (first, second, third)]
    failing = subprocess.run(["sh", "-c", "echo before; echo why >&2; exit 3"], capture_output=True, text=True)
    try:
        subprocess.run(["sleep", "60"], timeout=0.2)
        slow = "it ended"
    except subprocess.TimeoutExpired:
        slow = "it was killed"
    return {
        "counts": [line.split() for line in out.splitlines()],
        "codes": codes,
        "failing": [failing.returncode, failing.stdout, failing.stderr],
        "slow": slow,
    }
