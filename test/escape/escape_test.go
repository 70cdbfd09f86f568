//go:build linux

package escape

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/armed"
	"github.com/soulacy/toolcell/test/conformance"
)

// gatewaySecret is in the environment of the test, which is the caller of every sandbox.
const gatewaySecret = "gateway-secret-51d3"

// TestEscape makes every attempt and prints the tally.
func TestEscape(t *testing.T) {
	programs := build(t)
	escape(t, programs[0], programs[1])
}

// TestEscapeAsOrdinaryUser makes every attempt from sandboxes of an ordinary user, who builds them in another way than root
// does. Most controls need root and cannot succeed here, so the tally of TestEscape is the one that counts.
func TestEscapeAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 && !conformance.IsUserPart() {
		t.Log("TestEscape is this test already")
		return
	}
	programs := []string{"attempt", "toolcell-init"}
	if !conformance.IsUserPart() {
		programs = build(t)
	}
	conformance.AsUser(t, programs, func(t *testing.T, programs []string) { escape(t, programs[0], programs[1]) })
}

// TestEscapeArmed makes every attempt from sandboxes that stood ready before their program came; in a short run those that
// can share one.
func TestEscapeArmed(t *testing.T) { escapeArmed(t, "") }

// TestEscapeArmedPython makes them from a Python that waited in such a sandbox, and becomes the program.
func TestEscapeArmedPython(t *testing.T) { escapeArmed(t, "/usr/bin/python3") }

func escapeArmed(t *testing.T, python string) {
	programs := build(t)
	h := newHarness(t, programs[0], programs[1])
	n := h.b.(*native.Backend)
	b := &armed.Backend{Armer: n, Found: func() int { return n.ArmedStats().Served }, Python: python}
	short := os.Getenv("TOOLCELL_TEST_LONG") != "1"
	h.b, h.together, h.brief = b, short, short
	h.attempts(t)
	ready, found := b.Served()
	t.Logf("%d calls had a sandbox built ahead, %d found one", ready, found)
	assert.Greater(t, found, ready*3/4)
	assert.GreaterOrEqual(t, found, 4)
}

func escape(t *testing.T, helper, spawner string) {
	newHarness(t, helper, spawner).attempts(t)
}

// attempts makes them all.
func (h *harness) attempts(t *testing.T) {
	for _, group := range []struct {
		name     string
		attempts []attempt
	}{
		{"calls", h.calls(t)},
		{"mounts", mounts()},
		{"namespaces", namespaces()},
		{"processes", h.processes()},
		{"proc", h.proc()},
		{"kernel", kernel()},
		{"sockets", h.sockets(t)},
		{"terminals", terminals()},
		{"files", files()},
		{"read-only trees", readOnly()},
		{"programs", programs()},
		{"loads", h.loads()},
	} {
		t.Run(group.name, func(t *testing.T) {
			h.judgeAll(t, group.attempts)
		})
	}
	if !h.brief {
		t.Run("channels", h.channels)
		t.Run("races", h.races)
		t.Run("what a profile may allow", h.allowed)
		t.Run("crash", h.crash)
		t.Run("host sockets", h.hostSockets)
		t.Run("script of its own interpreter", h.selfInterpreter)
	}
	assert.Equal(t, h.sums, h.programs(t), "a program of ours was changed")
	h.tally.print(t)
}

// calls are the system calls that the helper makes with senseless arguments.
func (h *harness) calls(t *testing.T) []attempt {
	out, err := exec.Command(h.helper, "names").Output()
	require.NoError(t, err)
	var all []attempt
	for _, name := range strings.Fields(string(out)) {
		all = append(all, attempt{
			name: name, args: just(), unshare: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		})
	}
	require.NotEmpty(t, all)
	return all
}

// mounts change the tree of mounts, in a mount namespace of their own.
func mounts() []attempt {
	all := []attempt{
		{name: "release-agent", args: func(s side) []string {
			return []string{s.place, filepath.Join(s.host, "agent"), filepath.Join(s.f.outside, "ran")}
		}, setup: agent, proof: func(f *fixture) bool { return exists(f, "ran") }},
		{name: "cgroup-write", args: just()},
	}
	for _, name := range []string{
		"mount-tmpfs", "mount-proc", "mount-sysfs", "mount-cgroup2", "mount-devpts", "mount-mqueue", "mount-bind", "mount-remount",
		"mount-unmask", "mount-propagation", "mount-new-api", "mount-clone-tree", "mount-attributes", "chroot", "chroot-out",
	} {
		all = append(all, attempt{name: name})
	}
	for i := range all {
		all[i].unshare = syscall.CLONE_NEWNS
	}
	return all
}

// agent is the program that the kernel would run as root, with a proof that it ran.
func agent(t *testing.T, f *fixture) {
	script := "#!/bin/sh\n: > " + filepath.Join(f.outside, "ran") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "agent"), []byte(script), 0o755))
}

func exists(f *fixture, name string) bool {
	_, err := os.Lstat(filepath.Join(f.outside, name))
	return err == nil
}

func namespaces() []attempt {
	var all []attempt
	for _, name := range []string{
		"userns-clone", "userns-unshare", "userns-mount", "userns-clone3", "unshare-mount", "unshare-net", "unshare-ipc",
		"unshare-pid", "unshare-uts", "unshare-cgroup", "unshare-time", "setns-own",
	} {
		all = append(all, attempt{name: name, args: just()})
	}
	return append(all, attempt{name: "setns-init", args: just(), asInit: true})
}

// processes get at other processes: their own children, their parent, and one of the host's whose id they are told.
func (h *harness) processes() []attempt {
	var all []attempt
	for _, name := range []string{"ptrace-child", "vm-read-child", "vm-write-child", "pidfd-getfd", "kcmp-child"} {
		all = append(all, attempt{name: name, args: just()})
	}
	for _, name := range []string{"kill-pid", "kill-pidfd", "ptrace-pid", "prlimit-pid", "priority-pid"} {
		a := attempt{name: name, args: victimID, setup: h.withVictim}
		if strings.HasPrefix(name, "kill") {
			a.proof = func(f *fixture) bool { return dead(f.victim.Pid) }
		}
		all = append(all, a)
	}
	return append(all,
		attempt{name: "kill-supervisor", args: just(), supervised: true},
		attempt{name: "dumpable-init", args: just(), supervised: true},
	)
}

func victimID(s side) []string { return []string{itoa(s.f.victim.Pid)} }

// withVictim starts a process of the host: its environment and arguments hold the token, its directory the secret.
func (h *harness) withVictim(t *testing.T, f *fixture) {
	f.victim = h.start(t, f.outside, []string{"KEY=" + f.token}, f.token)
}

// proc reads what /proc shows of PID 1, which is a stranger in the control too, and of a process of the host.
func (h *harness) proc() []attempt {
	var all []attempt
	for _, name := range []string{
		"proc-environ", "proc-maps", "proc-auxv", "proc-io", "proc-mem", "proc-root", "proc-cwd", "proc-fd", "proc-fdinfo", "proc-exe",
		"proc-exe-open", "proc-ns", "proc-syscall", "proc-personality",
	} {
		all = append(all, attempt{name: name, args: just("1"), asInit: true})
	}
	of := func(file string) func(side) []string {
		return func(s side) []string { return []string{s.f.token, file, itoa(s.f.victim.Pid)} }
	}
	return append(all,
		attempt{name: "proc-environ-of", setup: h.withVictim, args: func(s side) []string {
			return []string{s.f.token, itoa(s.f.victim.Pid)}
		}},
		attempt{name: "proc-environ-of", label: "environment of the caller", setup: h.withGateway, args: func(s side) []string {
			return []string{gatewaySecret, itoa(s.f.victim.Pid), itoa(os.Getpid()), "self", "1", "2"}
		}},
		attempt{name: "proc-cmdline-of", setup: h.withVictim, args: func(s side) []string { return []string{s.f.token} }},
		attempt{name: "proc-file-of", label: "proc-cwd-of", setup: h.withVictim, args: of("cwd/secret")},
		attempt{name: "proc-file-of", label: "proc-root-of", setup: h.withVictim, args: func(s side) []string {
			return []string{s.f.token, "root" + s.f.outside + "/secret", itoa(s.f.victim.Pid)}
		}},
	)
}

// withGateway starts a process with the environment that the caller of every sandbox here has.
func (h *harness) withGateway(t *testing.T, f *fixture) {
	f.victim = h.start(t, f.outside, []string{"TOOLCELL_GATEWAY_KEY=" + gatewaySecret})
}

func kernel() []attempt {
	all := []attempt{{name: "hostname", args: just(), unshare: syscall.CLONE_NEWUTS}, {name: "swap-on", writable: true}}
	for _, name := range []string{"handle-open", "inotify", "fanotify", "dnotify"} {
		all = append(all, attempt{name: name})
	}
	for _, name := range []string{
		"bpf-map", "bpf-program", "perf-open", "io-uring", "aio-setup", "userfaultfd", "personality", "clock-set", "kernel-log", "nice-up",
		"realtime", "rlimit-up", "set-uid-0", "set-groups", "keyring-join", "keyring-add",
	} {
		all = append(all, attempt{name: name, args: just()})
	}
	for _, name := range []string{"int80", "int80-ptrace", "x32"} {
		all = append(all, attempt{name: name, args: just(), freezes: true})
	}
	return all
}

// sockets open families that lead elsewhere, and connect to a port of the host's loopback.
func (h *harness) sockets(t *testing.T) []attempt {
	all := []attempt{{name: "net-connect", args: just("tcp", listener(t).Addr().String())}}
	for _, name := range []string{
		"socket-packet", "socket-vsock", "socket-alg", "socket-mptcp", "socket-raw", "socket-route", "socket-uevent", "socket-audit", "socket-nflog",
		"socket-diag", "socket-generic", "socket-families", "net-interfaces",
	} {
		all = append(all, attempt{name: name, args: just()})
	}
	return all
}

func terminals() []attempt {
	var all []attempt
	for _, name := range []string{
		"tiocsti", "tiocsti-high-bit", "tiocsti-all-high-bits", "tioclinux", "tioclinux-high-bit", "tioclinux-all-high-bits", "tiocsetd",
		"tioccons",
	} {
		all = append(all, attempt{name: name, args: just()})
	}
	return all
}

// files reach for files that no mount shows, and for devices.
func files() []attempt {
	secret := func(s side) string { return filepath.Join(s.f.outside, "secret") }
	all := []attempt{
		{name: "read-file", args: func(s side) []string { return []string{secret(s), s.f.token} }},
		{name: "dotdot", args: func(s side) []string { return []string{s.place, secret(s)} }},
		{name: "read-sys", args: just(), guarantee: sandbox.ProcIsolated},
		{name: "leaked-fds", args: func(s side) []string { return []string{secret(s)} }},
		{name: "walk-writable", args: func(s side) []string {
			if s.confined {
				return []string{"/", "/tmp", "/dev/shm"}
			}
			return []string{s.place}
		}},
		{name: "link-host", setup: readOnlyTree, args: func(s side) []string {
			if s.confined {
				return []string{s.place + "/f", "/tmp/f"}
			}
			return []string{s.place + "/f", s.place + "/g"}
		}},
		{name: "overwrite-exe", args: just(), supervised: true, ownCopy: true},
	}
	for _, name := range []string{"mknod-block", "mknod-char", "mknod-kmem"} {
		all = append(all, attempt{name: name, writable: true})
	}
	for _, bit := range []string{"setuid", "setgid"} {
		for _, way := range []string{"chmod", "fchmod", "chmodat2", "create", "openat2", "tmpfile", "mknod"} {
			all = append(all, attempt{name: bit + "-" + way, writable: true})
		}
	}
	for _, name := range []string{
		"read-shadow", "write-passwd", "write-usr", "read-kmsg", "read-kcore", "read-kallsyms", "write-sysrq", "write-sysctl",
		"walk-sysctl", "read-disk",
	} {
		all = append(all, attempt{name: name, args: just()})
	}
	return all
}

// readOnlyTree makes what the attempts on a read-only tree want to change.
func readOnlyTree(t *testing.T, f *fixture) {
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "f"), []byte(strings.Repeat("content\n", 1000)), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "d"), 0o755))
	require.NoError(t, os.Symlink("f", filepath.Join(f.dir, "l")))
}

func readOnly() []attempt {
	var all []attempt
	for _, name := range strings.Fields("create tmpfile write truncate chmod chown lchown utime setxattr rename exchange unlink rmdir " +
		"mkdir link symlink mkfifo map reopen fallocate flags") {
		all = append(all, attempt{name: "ro-" + name, setup: readOnlyTree})
	}
	return all
}

// programs run what was dropped, and what promises more rights.
func programs() []attempt {
	var all []attempt
	for _, name := range []string{"drop-exec", "drop-loader", "drop-map", "drop-mprotect"} {
		for _, dir := range []string{"/tmp", "/dev/shm", placeDir} {
			a := attempt{name: name, label: name + " in " + dir, writable: true, args: func(s side) []string {
				if !s.confined && dir != "/dev/shm" {
					return []string{s.place}
				}
				return []string{dir}
			}}
			if dir == placeDir && name != "drop-exec" {
				a.guarantee, a.about = sandbox.FSNoexecScratch, "mapped"
			}
			all = append(all, a)
		}
	}
	return append(all,
		attempt{name: "memfd-exec", args: just()},
		attempt{name: "memfd-plain", args: just(), guarantee: sandbox.FSNoexecScratch},
		attempt{name: "setuid-program", exec: true, nobody: true, setup: moreRights},
		attempt{name: "file-caps", exec: true, nobody: true, setup: moreRights},
	)
}

// moreRights leaves two copies of the helper that give who runs them more rights. As an ordinary user they give none, and
// the control shows it.
func moreRights(t *testing.T, f *fixture) {
	setuid, caps := filepath.Join(f.dir, "setuid"), filepath.Join(f.dir, "filecaps")
	copyFile(t, f.helper, setuid, 0o755|os.ModeSetuid)
	copyFile(t, f.helper, caps, 0o755)
	// struct vfs_cap_data, revision 2, effective: CAP_DAC_OVERRIDE permitted. include/uapi/linux/capability.h
	value := []byte{1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := syscall.Setxattr(caps, "security.capability", value, 0); err != nil {
		t.Logf("no file capabilities: %v", err)
	}
}

// loads take more than their share of something.
func (h *harness) loads() []attempt {
	small := func(p *sandbox.ContainerProfile) {
		p.PIDs, p.Limits.MemoryMB, p.TmpfsMB, p.ShmMB, p.Limits.OutputKB = 32, 128, 16, 16, 256
	}
	scratch := func(s side) string {
		if s.confined {
			return "/tmp"
		}
		return s.place
	}
	all := []attempt{
		{name: "fill-disk", args: func(s side) []string { return []string{scratch(s), "48"} }},
		{name: "fill-disk", label: "fill-disk in /dev/shm", args: just("/dev/shm", "48")},
		{name: "fill-inodes", guarantee: sandbox.LimitFiles, about: "number of files", args: func(s side) []string { return []string{scratch(s), "50000"} }},
		{name: "many-files", args: just("2000")},
		{name: "flood", args: just("32"), profile: nil},
		{name: "fork-away", args: func(s side) []string { return []string{s.f.token} }, proof: func(f *fixture) bool { return reap(f.token) }},
	}
	if h.enforced(sandbox.LimitProcesses) {
		all = append(all, attempt{name: "fork-many", args: just("100")})
	}
	if h.enforced(sandbox.LimitMemory) {
		all = append(all, attempt{name: "take-memory", args: just("300")})
	}
	for i := range all {
		all[i].profile = small
	}
	return all
}

// reap kills what a control left behind and reports whether there was something. A confined attempt leaves nothing.
func reap(token string) bool {
	pids := having(token)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(pids) > 0
}
