package confine

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/sandbox"
)

// rlimit is one resource with its soft and hard limit.
type rlimit struct {
	resource   int
	name       string
	soft, hard uint64
}

const unlimited = uint64(unix.RLIM_INFINITY)

// rlimits are the limits of every program, all sixteen, so that none is inherited. Address space and number of processes
// are not limited here: the first breaks every runtime that reserves memory ahead, the second counts the host user's
// other processes; cgroups bound both. A core size of 0 would still run a piped core_pattern's handler, as root and on the host; 1 does not (core(5)).
// A process that reaches its soft CPU limit gets SIGXCPU, at the hard one a second later SIGKILL (setrlimit(2)).
func rlimits(l Limits) []rlimit {
	list := []rlimit{
		{unix.RLIMIT_NOFILE, "RLIMIT_NOFILE", l.OpenFiles, l.OpenFiles},
		{unix.RLIMIT_FSIZE, "RLIMIT_FSIZE", l.FileBytes, l.FileBytes},
		{unix.RLIMIT_CORE, "RLIMIT_CORE", 1, 1},
		{unix.RLIMIT_CPU, "RLIMIT_CPU", unlimited, unlimited},
		{unix.RLIMIT_STACK, "RLIMIT_STACK", 8 << 20, 8 << 20},
		{unix.RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK", 8 << 20, 8 << 20},
		{unix.RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", 819200, 819200},
		{unix.RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", 1024, 1024},
		{unix.RLIMIT_NICE, "RLIMIT_NICE", 0, 0},
		{unix.RLIMIT_RTPRIO, "RLIMIT_RTPRIO", 0, 0},
		{unix.RLIMIT_RTTIME, "RLIMIT_RTTIME", 0, 0},
		{unix.RLIMIT_AS, "RLIMIT_AS", unlimited, unlimited},
		{unix.RLIMIT_DATA, "RLIMIT_DATA", unlimited, unlimited},
		{unix.RLIMIT_RSS, "RLIMIT_RSS", unlimited, unlimited},
		{unix.RLIMIT_NPROC, "RLIMIT_NPROC", unlimited, unlimited},
		{unix.RLIMIT_LOCKS, "RLIMIT_LOCKS", unlimited, unlimited},
	}
	for i := range list {
		r := &list[i]
		if r.resource == unix.RLIMIT_CPU && l.CPUSeconds > 0 {
			r.soft, r.hard = l.CPUSeconds, l.CPUSeconds+1
		}
		if hard, ok := l.Hard[r.resource]; ok {
			r.soft, r.hard = min(r.soft, hard), min(r.hard, hard)
		}
	}
	return list
}

// setLimits comes after the last step that opens anything: a small number of open files is the program's, not the
// plan's.
func (c *compiler) setLimits() {
	c.For(string(sandbox.LimitFiles))
	for _, r := range rlimits(c.spec.Limits) {
		text := "{" + strconv.FormatUint(r.soft, 10) + ", " + strconv.FormatUint(r.hard, 10) + "}"
		l := c.Words(text, r.soft, r.hard)
		c.Do("limit", plan.Prlimit64, args(plan.Num(0), plan.Flag(r.resource, r.name), l.Ptr(), plan.Null()))
	}
}

const (
	capVersion3 = 0x20080522 // _LINUX_CAPABILITY_VERSION_3 (capget(2))
	// securebits: root gets nothing, ids change nothing, no ambient capability, each locked (capabilities(7)).
	secureNoroot, secureNorootLocked             = 1 << 0, 1 << 1
	secureNoSetuidFixup, secureNoSetuidFixLocked = 1 << 2, 1 << 3
	secureKeepCapsLocked                         = 1 << 5
	secureNoAmbient, secureNoAmbientLocked       = 1 << 6, 1 << 7
	securebits                                   = secureNoroot | secureNorootLocked | secureNoSetuidFixup | secureNoSetuidFixLocked |
		secureKeepCapsLocked | secureNoAmbient | secureNoAmbientLocked
)

// dropPrivileges gives up every capability for good. A new user namespace gives all of them, so each must go again.
func (c *compiler) dropPrivileges() {
	c.For(string(sandbox.PrivNoCapabilities))
	for n := range c.spec.Kernel.LastCap + 1 {
		c.prctl("never again", unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP", uint64(n))
	}
	c.prctl("root means nothing", unix.PR_SET_SECUREBITS, "PR_SET_SECUREBITS", securebits)
	header := binary.NativeEndian.AppendUint32(nil, capVersion3)
	header = binary.NativeEndian.AppendUint32(header, 0)
	c.Do("no capabilities", plan.Capset, args(c.Bytes(header, "{_LINUX_CAPABILITY_VERSION_3, 0}").Ptr(), c.Buffer(24, "{0}").Ptr()))
	c.For(string(sandbox.PrivNoNewPrivileges))
	c.prctl("nothing more by execve", unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS", 1)
	// The program must not look into its init, which is a copy of its parent: /proc/1/{mem,environ,exe,root,…} become
	// root's. Its own process is dumpable again once it has executed its program.
	c.For(string(sandbox.ProcIsolated))
	c.prctl("init's memory is closed", unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE", 0)
}

// closeRest closes what the plan has opened. Init keeps its channel and its parent's attention, both close-on-exec, so
// the program gets its streams and nothing else, but for the hook of one that is started ahead of its call.
func (c *compiler) closeRest() {
	c.For(string(sandbox.FSNoHostFiles))
	c.Do("nothing but the streams is passed on", plan.CloseRange, args(plan.FD(plan.ChannelFD), plan.FD(plan.AttentionFD), plan.Flag(unix.CLOSE_RANGE_CLOEXEC, "CLOSE_RANGE_CLOEXEC")))
	closed := func(first int, last plan.Arg) {
		c.Do("the rest is closed", plan.CloseRange, args(plan.FD(first), last, plan.Num(0)))
	}
	if c.spec.Armed {
		closed(plan.AttentionFD+1, plan.Flag(^uint32(0), "~0"))
		return
	}
	if c.spec.FDs.Hook != 0 {
		c.dup("the way by which its call comes", plan.FD(c.spec.FDs.Hook), HookFD)
	} else {
		closed(plan.AttentionFD+1, plan.FD(plan.ProgramFD-1)) // the program is still to be mapped
	}
	closed(plan.ProgramFD+1, plan.Flag(^uint32(0), "~0"))
}

// seccomp installs the filter, last of all that confines: it forbids most of what the plan does.
func (c *compiler) seccomp() {
	c.For(string(sandbox.KernelSeccomp))
	filter := c.Bytes(c.spec.Seccomp, "filter")
	// struct sock_fprog (seccomp(2)): the number of instructions, and where they are.
	prog := c.Words("{"+strconv.Itoa(len(c.spec.Seccomp)/8)+", filter}", uint64(len(c.spec.Seccomp)/8), 0)
	c.Pointer(prog, 8, filter)
	c.Do("seccomp filter", plan.Seccomp, args(plan.Flag(1, "SECCOMP_SET_MODE_FILTER"), plan.Num(0), prog.Ptr()),
		plan.Blame(plan.ClassRefused, "seccomp filters are forbidden here, perhaps by the container this runs in"))
}
