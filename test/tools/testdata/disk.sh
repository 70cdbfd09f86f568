# What a plain shell has: pipes, a trap, functions, here-documents, globs, arithmetic, exit codes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"; echo "removed: $(ls -d "$work" 2>/dev/null || echo gone)"' EXIT
for i in 1 2 3 4 5; do
  printf '%s,%s\n' "$i" "$((i * i))" > "$work/part$i.csv"
done
cat "$work"/part*.csv | sort -t, -k2,2nr | head -n 3 | while IFS=, read -r n square; do echo "$n squared is $square"; done
(cd "$work" && for f in *.csv; do wc -c < "$f" | tr -d ' '; done) | sort | uniq -c | sed 's/^ *//'
fails() { return 4; }
fails || echo "it failed with $?"
sed -e 's/name/world/' <<TEXT
hello, name: $(echo "$work" | sed 's|.*/tmp\..*|in a scratch directory|')
TEXT
cat > kept.txt
grep -c . kept.txt
