#!/usr/bin/env bash
# The main job, as `make run` shows it: a real tool in a sandbox, and what the same tool is denied there.
# Usage: run.sh TOOLCELL
set -euo pipefail

toolcell=$1
demo=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
background=()
cleanup() {
	[ ${#background[@]} -eq 0 ] || kill "${background[@]}" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

title() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; }

if ! "$toolcell" check host >/dev/null 2>&1; then
	echo 'This machine cannot enforce the whole profile, so every call is refused. What is missing, and the fix:'
	"$toolcell" doctor | awk '/^[a-z]/ { missing = /^fail/ } missing' || true
	exit 1
fi

# The machine's own Python, or the one that PATH finds (pyenv, a virtual environment), shown read-only to the sandbox.
python=(/usr/bin/python3)
interpreter=()
if [ ! -x /usr/bin/python3 ]; then
	python=("$(command -v python3)") || { echo 'the demo needs python3'; exit 1; }
	interpreter=(--interpreter "${python[0]}")
fi
mkdir "$work/workspace"
workspace=$work/workspace
sandboxed() {
	"$toolcell" run -i "${interpreter[@]}" -v "$demo:/tool:ro" -v "$workspace:/workspace" host "${python[@]}" /tool/tool.py "$@"
}

title 'A tool reads a CSV on its standard input, computes, and writes a report into the workspace'
show "toolcell run -i -v demo:/tool:ro -v workspace:/workspace host python3 /tool/tool.py report /workspace < sales.csv"
sandboxed report /workspace <"$demo/sales.csv"
show 'cat workspace/report.json     # on the host, owned by the caller'
cat "$workspace/report.json"

title 'The same tool, talked into mischief: what works on the host, and what happens in the sandbox'
export DEMO_SECRET=sk-demo-1234
secret=$work/secret.txt
echo 'a file of the host' >"$secret"
"${python[@]}" - "$work/port" <<'PY' &
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(s.getsockname()[1]))
import os
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    c, _ = s.accept()
    c.sendall(b"hello")
    c.close()
PY
background+=($!)
until [ -s "$work/port" ]; do sleep 0.05; done
port=$(cat "$work/port")

row() { printf '  %-36s %-34s %s\n' "$1" "$2" "$3"; }
both() {
	local what=$1
	shift
	row "$what" "$("${python[@]}" "$demo/tool.py" attempt "$@" 2>&1 | tail -n 1)" "$(sandboxed attempt "$@" </dev/null 2>&1 | tail -n 1)"
}
inside() {
	local what=$1
	shift
	row "$what" '(not tried)' "$(sandboxed attempt "$@" </dev/null 2>&1 | tail -n 1)"
}
# A bomb goes off only where its limit holds: an operator can have waived it.
holds=$("$toolcell" doctor 2>/dev/null || true)
bomb() {
	local guarantee=$1
	shift
	if grep -q "^ok *$guarantee " <<<"$holds"; then
		inside "$@"
	else
		row "$1" '(not tried)' "(not tried: $guarantee is waived)"
	fi
}
row attempt 'on the host' 'in the sandbox'
both 'read a file of the host' read-file "$secret"
both 'write beside it' write-file "$work/dropped"
inside 'change the tool itself' write-file /tool/tool.py
both 'connect to a port of the host' connect "$port"
both 'find a secret in the environment' see-secret
both "read another process's environment" see-process $$
both 'signal that process' kill $$
both 'run a program dropped in /tmp' run-dropped
both 'become root' become-root
bomb limit.processes 'start processes without end' fork-flood
bomb limit.memory 'take memory without end' memory
rm -f /tmp/dropped

title 'A call that does not end is ended, and the exit code says so'
show "toolcell run --timeout 1s host sleep 60; echo \$?"
status=0
"$toolcell" run --timeout 1s host sleep 60 || status=$?
echo "$status"

title 'What a weaker call gets'
show "toolcell run --network host host true; echo \$?"
status=0
"$toolcell" run --network host host true || status=$?
echo "$status"

echo
echo 'Everything that was enforced, guarantee by guarantee: bin/toolcell doctor'
