#!/usr/bin/env bash
# Installs what the tests use and the machine lacks, on Debian and Ubuntu, as root. Otherwise says what is missing; the
# tests that need it are then skipped, or fail under TOOLCELL_TEST_REQUIRE=1.
set -euo pipefail

python=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)
# file or command that must be there : package that brings it : what for
needs=(
	'gcc:gcc:the seccomp generator and the escape tests'
	'pkg-config:pkg-config:finding libseccomp'
	'/usr/include/seccomp.h:libseccomp-dev:the seccomp generator and its tests'
	'/usr/bin/python3:python3:the demo and the scripts'
	'/usr/lib/python3/dist-packages/pip:python3-pip:installing what a tool asks for'
	'node:nodejs:the tools in JavaScript, and the inspector of the MCP server'
	'npm:npm:installing what a tool asks for, and that inspector'
	'bwrap:bubblewrap:the benchmarks beside a peer'
	"/usr/lib/python$python/test/test_json:libpython$python-testsuite:the comparison of CPython inside and outside"
)
# Container engines are installed for whoever switched their tests on, and for nobody else.
if [ "${SOULACY_DOCKER_TESTS:-}" = 1 ]; then
	needs+=(
		'dockerd:docker.io:the tests with docker'
		'podman:podman:the tests with podman'
		'/usr/libexec/podman/catatonit:catatonit:the PID 1 that podman puts before a program'
		'newuidmap:uidmap:the tests with podman as an ordinary user'
		'runsc:runsc:the tests with gVisor'
		'busybox:busybox-static:the images of those tests'
	)
fi
# So is the emulator for the kernel tests.
if [ "${TOOLCELL_TEST_KERNELS:-}" = 1 ]; then
	needs+=(
		'qemu-system-x86_64:qemu-system-x86:booting other kernels'
		'debootstrap:debootstrap:their root'
		'mke2fs:e2fsprogs:their disks'
		'/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring:the signatures of what they are made of'
	)
fi
missing=()
for n in "${needs[@]}"; do
	IFS=: read -r file package why <<<"$n"
	case $file in
	/*) [ -e "$file" ] && continue ;;
	*) command -v "$file" >/dev/null && continue ;;
	esac
	missing+=("$package")
	echo "missing: $package (for $why)"
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo "to run every test: apt-get install ${missing[*]}"
	exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null </dev/null ||
	echo "could not install ${missing[*]}; the tests that need them say so"
