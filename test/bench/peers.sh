#!/usr/bin/env bash
# Installs what toolcell is measured beside and the machine lacks: Debian's packages, as root; with BENCH_NPM=1 also two
# agents' sandboxes from npm, below the user's cache directory. What cannot be installed is a line of the benchmark.
set -euo pipefail

needs=(
	'bwrap:bubblewrap' 'unshare:util-linux' 'runc:runc' 'dockerd:docker.io' 'podman:podman' 'runsc:runsc'
	'/usr/bin/python3:python3' '/usr/bin/node:nodejs'
)
npm=${XDG_CACHE_HOME:-$HOME/.cache}/toolcell/bench
packages=('@anthropic-ai/sandbox-runtime' '@openai/codex')
[ "${BENCH_NPM:-}" != 1 ] || needs+=('npm:npm' 'socat:socat' 'rg:ripgrep')

missing=()
for n in "${needs[@]}"; do
	IFS=: read -r file package <<<"$n"
	case $file in
	/*) [ -e "$file" ] && continue ;;
	*) PATH=$PATH:/usr/sbin:/sbin command -v "$file" >/dev/null && continue ;;
	esac
	missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		echo "to measure every peer: apt-get install ${missing[*]}"
	else
		export DEBIAN_FRONTEND=noninteractive
		echo "installing ${missing[*]}"
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null </dev/null ||
			echo "could not install ${missing[*]}"
	fi
fi
[ "${BENCH_NPM:-}" = 1 ] || exit 0
for p in "${packages[@]}"; do
	[ ! -d "$npm/node_modules/$p" ] || continue
	mkdir -p "$npm"
	npm install --no-audit --no-fund --silent --prefix "$npm" "$p" >/dev/null || echo "could not install $p from npm"
done
