# Pipes, arrays, process substitution, functions, a here-document, traps and job control.
set -euo pipefail
work=$(mktemp -d)
cleanup() { rm -rf "$work"; echo "cleaned up with $1"; }
trap 'cleanup $?' EXIT
trap 'echo "got USR1"' USR1

cat > "$work/data" <<'DATA'
pear 3
apple 5
pear 4
fig 1
DATA

declare -A total
while read -r name n; do total[$name]=$(( ${total[$name]:-0} + n )); done < "$work/data"
for name in $(printf '%s\n' "${!total[@]}" | LC_ALL=C sort); do echo "$name=${total[$name]}"; done

comm -12 <(cut -d' ' -f1 "$work/data" | LC_ALL=C sort -u) <(printf 'fig\nplum\n') | sed 's/^/common: /'
kill -USR1 $$
if false | true; then echo 'a pipe hid its failure'; else echo "pipefail: ${PIPESTATUS[*]}"; fi
mkfifo "$work/ready"
( trap - EXIT; echo > "$work/ready"; exec sleep 60 ) &
background=$!
read -r < "$work/ready"
kill "$background"
wait "$background" || echo "background ended with $?"
tee "$work/copy" < "$work/data" | awk '{ s += $2 } END { print "sum", s }'
cmp -s "$work/data" "$work/copy" && echo "copied $(wc -l < "$work/copy") lines"
read -r rest || rest=nothing
echo "stdin: $rest"
exit 7
