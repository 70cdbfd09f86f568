//go:build unix

package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// devices: the few devices that programs count on work, and what interpreters build on them does too.
func (e *env) devices(t *testing.T) {
	t.Run("nodes", func(t *testing.T) {
		assert.Empty(t, see[map[string]string](t, e, e.profile(), "devices"))
	})
	t.Run("standard streams by name", func(t *testing.T) {
		c := sh("cat /dev/stdin > /dev/stdout; echo err > /dev/stderr; cat /dev/fd/0; echo more >> /dev/stdout")
		c.Stdin = strings.NewReader("in\n")
		res := e.run(t, e.profile(), c)
		assert.Equal(t, "in\nmore\n", string(res.Stdout), "stderr: %s", res.Stderr)
		assert.Equal(t, "err\n", string(res.Stderr))
	})
	t.Run("no other", func(t *testing.T) {
		out := e.ok(t, e.profile(), sh("find /dev -type b; find /dev -type c ! -path '/dev/pts/*'"+
			" ! -name null ! -name zero ! -name full ! -name random ! -name urandom ! -name tty ! -name ptmx ! -name console"))
		assert.Empty(t, out)
	})
	t.Run("private shared memory", func(t *testing.T) {
		e.ok(t, e.profile(), sh("echo x > /dev/shm/left"))
		assert.Empty(t, e.ok(t, e.profile(), sh("ls -A /dev/shm")))
	})
	t.Run("private scratch", func(t *testing.T) {
		e.ok(t, e.profile(), sh("echo x > /tmp/left"))
		assert.NotContains(t, e.ok(t, e.profile(), sh("ls -A /tmp")), "left")
	})
	t.Run("multiprocessing", func(t *testing.T) {
		assert.Equal(t, "[1, 2, 3]\n", e.ok(t, e.profile(), sandbox.Command{Argv: []string{"python3", "-c",
			"import multiprocessing as m; m.Lock(); print(m.get_context('fork').Pool(2).map(abs, [-1, -2, -3]))"}}))
	})
	t.Run("threads and sockets", func(t *testing.T) {
		assert.Equal(t, "ok\n", e.ok(t, e.profile(), sandbox.Command{Argv: []string{"python3", "-c", `
import socket, ssl, sqlite3, ctypes, threading, subprocess, asyncio
x = threading.Thread(target=lambda: None); x.start(); x.join()
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
assert subprocess.run(["true"]).returncode == 0
asyncio.run(asyncio.sleep(0))
print("ok")`}}))
	})
	t.Run("loopback", func(t *testing.T) {
		failed := see[map[string]string](t, e, e.profile(), "loopback")
		if e.NoIPv6 {
			maps.DeleteFunc(failed, func(what, _ string) bool { return strings.Contains(what, "6 ") })
		}
		assert.Empty(t, failed)
	})
	t.Run("no network", e.noNetwork)
}

// noNetwork: an address outside fails at once, and is not waited for.
func (e *env) noNetwork(t *testing.T) {
	out := e.ok(t, e.profile(), sandbox.Command{Argv: []string{"python3", "-c", `
import socket
for family, kind, address in [
    (socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)), (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 53)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)), (socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443))]:
    try:
        socket.socket(family, kind).connect(address)
        print("connected to", address)
    except OSError:
        pass
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line))`}})
	assert.Equal(t, "['lo']\n", out)
}

// proc: /proc shows the sandbox's own processes, and nothing that tells or changes something of the host.
func (e *env) proc(t *testing.T) {
	masked := []string{
		"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi",
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/sysrq-trigger", "/sys/firmware", "/sys/kernel/security",
		"/sys/devices/virtual/powercap", "/sys/fs/cgroup/release_agent", "/sys/kernel/debug", "/sys/kernel/tracing",
	}
	t.Run("masked", func(t *testing.T) {
		for path, seen := range see[map[string]string](t, e, e.profile(), "files", masked...) {
			if slices.Contains(e.Unmasked, path) {
				report, err := e.b.Ready(t.Context(), e.profile())
				require.NoError(t, err)
				assert.Contains(t, report.Get(sandbox.ProcIsolated).Reason, path)
				continue
			}
			assert.NotEqual(t, "content", seen, "%s", path)
		}
	})
	t.Run("not writable", func(t *testing.T) {
		out := e.ok(t, e.profile(), sh(`for f in /proc/sys/kernel/hostname /proc/sys/kernel/core_pattern /proc/sysrq-trigger \
			/proc/irq/default_smp_affinity /proc/bus/x /proc/sys/vm/drop_caches /proc/mtrr; do
			if (echo 0 > $f) 2>/dev/null; then echo $f; fi; done`))
		assert.Empty(t, out)
	})
	t.Run("own processes", func(t *testing.T) {
		out := e.ok(t, e.profile(), sh(`for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; echo; done`))
		assert.Contains(t, out, "/proc/[0-9]")
		assert.NotContains(t, out, ".test ", "the test program is a process of the host")
	})
}
