# Pipelines, their exit codes, and what is inherited.
import subprocess, sys

a = subprocess.Popen(["printf", "b\na\nc\n"], stdout=subprocess.PIPE)
b = subprocess.Popen(["sort"], stdin=a.stdout, stdout=subprocess.PIPE)
a.stdout.close()
print(b.communicate()[0], a.wait(), b.returncode)
print(subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 3"], stderr=subprocess.STDOUT, stdout=subprocess.PIPE))
print(subprocess.getstatusoutput("echo x; false"))
try:
    subprocess.run([sys.executable, "-c", "raise SystemExit(9)"], check=True)
except subprocess.CalledProcessError as e:
    print(e, e.cmd[1:])
try:
    subprocess.run(["no-such-program"])
except FileNotFoundError as e:
    print(e)
subprocess.run(["echo", "inherited"])
print("end")
