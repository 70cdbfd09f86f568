package seccomp

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
	"github.com/soulacy/toolcell/seccomp/internal/policy"
	"github.com/soulacy/toolcell/seccomp/internal/table"
)

func TestSupported(t *testing.T) {
	if err := Supported(); err != nil {
		missing(t, err.Error())
	}
}

func TestLoadRefusesWhatIsNoProgram(t *testing.T) {
	assert.Error(t, Load(nil))
	assert.Error(t, Load([]byte("not a program")))
	assert.Error(t, Load(bpf.Encode([]bpf.Insn{{Op: bpf.Load}})))
}

func TestLoadConfinesEveryThread(t *testing.T) {
	lines := func(confinement string) []string {
		out, err := victimCommand(t, confinement, "threads").Output()
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	before := lines(unconfined)
	require.Greater(t, len(before), 8)
	for _, l := range lines(strict) {
		assert.Equal(t, "NoNewPrivs:1 Seccomp:2", l)
		assert.NotContains(t, before, l, "the control has a filter already")
	}
}

func TestLoadFailsBesideAnotherFilter(t *testing.T) {
	out, err := victimCommand(t, unconfined, "twice").CombinedOutput()
	assert.NoError(t, err, string(out))
}

// TestOtherArchitectureDies loads the other architecture's program: to it, every call of this machine is foreign.
func TestOtherArchitectureDies(t *testing.T) {
	require.NoError(t, victimCommand(t, strict, "threads").Run())
	cmd := victimCommand(t, foreign, "threads")
	require.Error(t, cmd.Run())
	assert.Equal(t, syscall.SIGSYS, signalOf(t, cmd))
}

// loadOnThisThread installs a program without TSYNC.
func loadOnThisThread(program []byte) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(program) / bpf.Size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return errno
	}
	return nil
}

const (
	bad  = ^uintptr(0)               // a wrong pointer, descriptor, id, flag word and size
	high = uintptr(0xabcdef01) << 32 // what a compiler may leave in the upper half of an int argument
)

// notImplemented stands for the calls that no kernel has: refused with the kernel's own answer.
const notImplemented = "vserver"

// TestRefusedCalls makes every call that the profile refuses whatever its arguments, with arguments that are all
// wrong: the kernel's answer must differ from the filter's, or the attempt proves nothing.
func TestRefusedCalls(t *testing.T) {
	arch, err := table.Get(runtime.GOARCH)
	require.NoError(t, err)
	p, err := policy.Parse(JSON(Options{}))
	require.NoError(t, err)
	var attempts []attempt
	var want []syscall.Errno
	for _, r := range p.Syscalls {
		if r.Verdict() == bpf.Allow || r.Args != nil || strings.Contains(strings.Join(r.Names, " "), notImplemented) {
			continue
		}
		for _, name := range r.Names {
			if nr, ok := arch.Number(name); ok {
				attempts = append(attempts, attempt{name, uintptr(nr), [6]uintptr{bad, bad, bad, bad, bad, bad}})
				want = append(want, syscall.Errno(r.ErrnoRet))
			}
		}
	}
	require.Greater(t, len(attempts), 60)
	assertRefused(t, attempts, want)
}

// assertRefused checks that each attempt gives its wanted errno confined, and another result unconfined.
func assertRefused(t *testing.T, attempts []attempt, want []syscall.Errno) {
	t.Helper()
	before, after := results(t, unconfined, attempts), results(t, strict, attempts)
	for i, a := range attempts {
		t.Run(a.Name, func(t *testing.T) {
			assert.Equal(t, want[i], after[i])
			if before[i] == want[i] && os.Geteuid() != 0 {
				missing(t, fmt.Sprintf("root, without whom the kernel itself answers %v", want[i]))
			}
			assert.NotEqual(t, want[i], before[i], "the control gives the filter's answer")
		})
	}
}

// call names an attempt on a call of this architecture.
func call(t *testing.T, what, name string, args ...uintptr) attempt {
	t.Helper()
	arch, err := table.Get(runtime.GOARCH)
	require.NoError(t, err)
	nr, ok := arch.Number(name)
	require.True(t, ok, name)
	a := attempt{Name: name + " " + what, Nr: uintptr(nr)}
	copy(a.Args[:], args)
	return a
}

// Type numbers that the kernel refuses by themselves, with another errno than the filter's: one above every type, seen
// before the family, and one that no family has, which is looked for after the family.
const (
	typeAboveAll = 15
	typeUnused   = 7
)

func TestRefusedSockets(t *testing.T) {
	var attempts []attempt
	add := func(what string, args ...uintptr) { attempts = append(attempts, call(t, what, "socket", args...)) }
	for family := range uintptr(unix.AF_MAX) {
		switch family {
		case unix.AF_UNIX, unix.AF_INET, unix.AF_INET6:
			continue
		}
		add(fmt.Sprintf("family %d", family), family, typeAboveAll)
		add(fmt.Sprintf("family %d, dirty", family), high|family, typeAboveAll)
	}
	for _, family := range []uintptr{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uintptr{2, 33, 115, 132, unix.IPPROTO_RAW, 256, unix.IPPROTO_MPTCP} {
			add(fmt.Sprintf("family %d, protocol %d", family, protocol), family, typeUnused, protocol)
			add(fmt.Sprintf("family %d, protocol %d, dirty", family, protocol), high|family, high|typeUnused, high|protocol)
		}
	}
	for protocol := uintptr(0); protocol < 32; protocol++ { // 0 is NETLINK_ROUTE
		add(fmt.Sprintf("netlink protocol %d", protocol), unix.AF_NETLINK, typeUnused, protocol)
	}
	attempts = append(attempts, call(t, "AF_TIPC", "socketpair", unix.AF_TIPC, typeAboveAll, 0, bad))
	assertRefused(t, attempts, same(len(attempts), unix.EAFNOSUPPORT))
}

func TestRefusedPacketSocketByItsOldName(t *testing.T) {
	attempts := []attempt{
		call(t, "SOCK_PACKET", "socket", unix.AF_INET, unix.SOCK_PACKET, 0x300),
		call(t, "SOCK_PACKET, flags", "socket", unix.AF_INET, high|unix.SOCK_PACKET|unix.SOCK_CLOEXEC, 0),
	}
	assertRefused(t, attempts, same(len(attempts), unix.EAFNOSUPPORT))
}

func TestRefusedArguments(t *testing.T) {
	var attempts []attempt
	add := func(what, name string, args ...uintptr) { attempts = append(attempts, call(t, what, name, args...)) }
	for name, request := range map[string]uintptr{"TIOCSTI": unix.TIOCSTI, "TIOCLINUX": unix.TIOCLINUX, "TIOCSETD": unix.TIOCSETD, "TIOCCONS": unix.TIOCCONS} {
		for _, dirt := range []uintptr{0, 1 << 32, high, bad - 0xffffffff} {
			add(fmt.Sprintf("%s %#x", name, dirt), "ioctl", bad, dirt|request)
		}
	}
	for bit := range 32 {
		// CLONE_THREAD without CLONE_SIGHAND makes every clone fail with EINVAL.
		if flag := uintptr(1) << bit; flag&namespaceFlags != 0 {
			add(fmt.Sprintf("%#x", flag), "clone", flag|unix.CLONE_THREAD)
			add(fmt.Sprintf("%#x, dirty", flag), "clone", high|flag|unix.CLONE_THREAD)
		}
	}
	for _, persona := range []uintptr{0x40000, 0x400000, 0x20001, 1, 0xfffffffe} {
		add(fmt.Sprintf("%#x", persona), "personality", high|persona)
	}
	add("MFD_EXEC", "memfd_create", bad, unix.MFD_EXEC)
	add("MFD_EXEC, dirty", "memfd_create", bad, high|unix.MFD_EXEC|unix.MFD_CLOEXEC)
	for _, option := range []uintptr{unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF} {
		add(fmt.Sprintf("option %d", option), "setsockopt", bad, unix.SOL_SOCKET, option)
		add(fmt.Sprintf("option %d, dirty", option), "setsockopt", bad, high|unix.SOL_SOCKET, high|option)
	}
	assertRefused(t, attempts, same(len(attempts), unix.EPERM))
}

// TestRefusedModes asks for files that run with their owner's or group's rights.
func TestRefusedModes(t *testing.T) {
	var attempts []attempt
	for _, mode := range []uintptr{unix.S_ISUID, unix.S_ISGID, unix.S_ISUID | unix.S_ISGID | 0o777, high | unix.S_ISUID} {
		add := func(name string, args ...uintptr) {
			attempts = append(attempts, call(t, fmt.Sprintf("%#o", mode), name, args...))
		}
		add("fchmod", bad, mode)
		add("fchmodat", bad, bad, mode)
		add("fchmodat2", bad, bad, mode, 0)
		add("mknodat", bad, bad, unix.S_IFREG|mode)
		add("openat", bad, bad, unix.O_CREAT, mode)
		add("openat", bad, bad, unix.O_TMPFILE|unix.O_WRONLY, mode)
	}
	assertRefused(t, attempts, same(len(attempts), unix.EPERM))
}

// dnAccess is DN_ACCESS (fcntl(2)).
const dnAccess = 1

func TestRefusedFileCommands(t *testing.T) {
	var attempts []attempt
	for what, command := range map[string]uintptr{"F_NOTIFY": unix.F_NOTIFY, "F_SETLEASE": unix.F_SETLEASE, "F_SETDELEG": unix.F_SETDELEG} {
		attempts = append(attempts, call(t, what, "fcntl", bad, command, dnAccess), call(t, what+", dirty", "fcntl", bad, high|command))
	}
	assertRefused(t, attempts, same(len(attempts), unix.EINVAL))
}

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

func same(n int, errno syscall.Errno) []syscall.Errno {
	list := make([]syscall.Errno, n)
	for i := range list {
		list[i] = errno
	}
	return list
}

func TestUnknownNumbers(t *testing.T) {
	arch, err := table.Get(runtime.GOARCH)
	require.NoError(t, err)
	attempts := []attempt{{Name: "none"}, {Name: "minus one", Nr: bad}, {Name: "600", Nr: 600}}
	attempts[0].Nr = uintptr(arch.Max() + 1)
	for _, errno := range results(t, strict, attempts) {
		assert.Equal(t, unix.ENOSYS, errno)
	}
}

// TestAllowedCalls makes calls next to the refused ones: a filter must not change their result.
func TestAllowedCalls(t *testing.T) {
	attempts := []attempt{
		call(t, "AF_UNIX", "socket", unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC),
		call(t, "AF_UNIX, dirty", "socket", high|unix.AF_UNIX, high|unix.SOCK_DGRAM, high),
		call(t, "TCP", "socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP),
		call(t, "UDP over IPv6, dirty", "socket", high|unix.AF_INET6, high|unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, high|unix.IPPROTO_UDP),
		call(t, "AF_UNIX", "socketpair", unix.AF_UNIX, unix.SOCK_SEQPACKET, 0, bad),
		call(t, "of no socket", "setsockopt", bad),
		call(t, "of no socket", "sendto", bad),
		call(t, "TIOCSCTTY", "ioctl", bad, unix.TIOCSCTTY),
		call(t, "TCGETS", "ioctl", bad, unix.TCGETS),
		call(t, "TIOCGWINSZ", "ioctl", bad, unix.TIOCGWINSZ),
		call(t, "a neighbour of TIOCSTI", "ioctl", bad, high|unix.TIOCSTI+1),
		call(t, "query", "personality", 0xffffffff),
		call(t, "plain", "personality", 0),
		call(t, "plain", "memfd_create", bad, unix.MFD_CLOEXEC),
		call(t, "sealed", "memfd_create", bad, unix.MFD_NOEXEC_SEAL),
		call(t, "of a thread without CLONE_SIGHAND", "clone", unix.CLONE_THREAD),
		call(t, "version", "landlock_create_ruleset", 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION),
		call(t, "of itself", "prlimit64", 0, unix.RLIMIT_NOFILE, 0, 0),
		call(t, "of no operation", "seccomp", bad),
		call(t, "sticky", "fchmodat", bad, bad, unix.S_ISVTX|0o777),
		call(t, "of a new file", "openat", bad, bad, unix.O_CREAT|unix.O_WRONLY, 0o777),
		call(t, "without a mode", "openat", bad, bad, unix.O_DIRECTORY|unix.O_CLOEXEC, bad),
		call(t, "of a FIFO", "mknodat", bad, bad, unix.S_IFIFO|0o777),
		call(t, "F_GETLEASE", "fcntl", bad, unix.F_GETLEASE),
		call(t, "another option", "setsockopt", bad, unix.SOL_SOCKET, unix.SO_DETACH_FILTER),
		call(t, "another level", "setsockopt", bad, unix.IPPROTO_TCP, unix.SO_ATTACH_FILTER),
	}
	before, after := results(t, unconfined, attempts), results(t, strict, attempts)
	for i, a := range attempts {
		assert.Equal(t, before[i], after[i], a.Name)
	}
}

func TestInotifyOption(t *testing.T) {
	attempts := []attempt{
		call(t, "", "inotify_init1", 0),
		call(t, "", "inotify_add_watch", bad, bad, unix.IN_OPEN),
		call(t, "", "fanotify_init", bad),
	}
	before := results(t, unconfined, attempts)
	assert.Equal(t, same(3, unix.ENOSYS), results(t, strict, attempts))
	assert.NotContains(t, before, unix.ENOSYS, "the control gives the filter's answer")
	assert.Equal(t, []syscall.Errno{before[0], before[1], unix.ENOSYS}, results(t, withWatch, attempts))
}
