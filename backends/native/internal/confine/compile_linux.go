package confine

import (
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/sandbox"
)

// Namespaces are the clone flags of every sandbox. The cgroup namespace is not among them: it is made by a step, after
// the process is in its cgroup, so that its root is that cgroup (cgroup_namespaces(7)).
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS

// compiler holds what steps of one plan need of each other.
type compiler struct {
	plan.Builder
	spec Spec
}

// Compile returns the plan of s. The program is not part of it: it comes beside the plan (see [plan.Encode]).
func Compile(s Spec) (*plan.Plan, error) {
	c := &compiler{spec: s}
	c.Grow(s.room())
	root := c.ownRoot
	if s.Prepared {
		if err := s.fitsPrepared(); err != nil {
			return nil, err
		}
		root = c.preparedRoot
	}
	for _, part := range []func(){
		c.joinCgroups, c.takeIdentity, c.takeStreams, c.resetInherited, root,
		c.emptyInput, c.network, c.dropPrivileges, c.enterDir, c.landlock, c.closeRest, c.setLimits, c.callerLives, c.seccomp, c.await,
	} {
		part()
	}
	return c.Shape()
}

// room is about what a plan takes: some steps of its own and some for each part of the image. Too little costs time only.
func (s Spec) room() (steps, bytes int) {
	steps, bytes = 192, 8<<10
	if i := s.Image; i != nil {
		steps += 4 * (len(i.Binds) + len(i.Links) + len(i.Files) + len(i.Dirs))
		for _, f := range i.Files {
			bytes += len(f.Data)
		}
	}
	return steps + 8*len(s.Mounts), bytes
}

// Waiting returns the plan of a process that does nothing until it is killed, for the namespaces it lives in.
func Waiting() (*plan.Plan, error) {
	var b plan.Builder
	b.Wait("wait to be killed", plan.ChannelFD, b.Buffer(8, "never"))
	return b.Plan(plan.Program{Paths: []string{"/"}, Argv: []string{"/"}})
}

func args(a ...plan.Arg) []plan.Arg { return a }

// joinCgroups moves the process into its cgroups before it has used anything. The files were opened by the caller,
// whose rights count (cgroups(7)); the process itself has none to write there.
func (c *compiler) joinCgroups() {
	c.For(string(sandbox.LimitMemory))
	for _, fd := range c.spec.FDs.Cgroups {
		c.Call("join the call's cgroup", plan.Write, args(plan.FD(fd), c.Str("0"), plan.Num(1)), plan.Want(1))
	}
	c.For(string(sandbox.ProcIsolated))
	c.Do("new cgroup namespace", plan.Unshare, args(plan.Flag(unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP")),
		plan.Blame(plan.ClassSetup, "a new user namespace has no rights here: an AppArmor or SELinux policy restricts it (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for this program)"))
}

// takeIdentity waits until its parent, a spawner or the caller, has written the maps and becomes the one user there is.
func (c *compiler) takeIdentity() {
	c.For(string(sandbox.PrivNonroot))
	c.Wait("the identity maps are written", plan.ChannelFD, c.Buffer(1, "go"))
	if fd := c.spec.FDs.MemfdNoexec; fd != 0 {
		// The kernel gives this to the host's root alone, whose id the process has until it takes the sandbox's.
		c.For(string(sandbox.FSNoexecScratch))
		c.Call("memfds are not executable", plan.Write, args(plan.FD(fd), c.Str("1"), plan.Num(1)), plan.Want(1))
		c.For(string(sandbox.PrivNonroot))
	}
	if c.spec.DropGroups {
		c.Do("no supplementary groups", plan.Setgroups, args(plan.Num(0), plan.Null()))
	}
	u, g := plan.Num(c.spec.Identity.UID), plan.Num(c.spec.Identity.GID)
	c.Do("group id", plan.Setresgid, args(g, g, g))
	c.Do("user id", plan.Setresuid, args(u, u, u))
	// The change of ids made the process non-dumpable and its own /proc files root's; some are written below.
	c.prctl("dumpable while it is set up", unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE", 1)
	// A change of ids clears the parent-death signal, so it is set after the last one (PR_SET_PDEATHSIG(2const)).
	c.For(string(sandbox.LifeNoSurvivors))
	c.prctl("die with the parent", unix.PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG", uint64(unix.SIGKILL))
	if c.spec.Direct {
		c.leaveCaller()
	}
}

// leaveCaller does what a spawner has done for its children.
func (c *compiler) leaveCaller() {
	c.For(string(sandbox.EnvFiltered))
	c.Do("its name in ps", plan.Prctl, args(plan.Flag(unix.PR_SET_NAME, "PR_SET_NAME"), c.Str(initName), plan.Num(0), plan.Num(0), plan.Num(0)))
	// CLONE_CLEAR_SIGHAND takes handlers away and leaves ignored signals ignored (clone(2)).
	for _, sig := range c.spec.Ignored {
		// struct sigaction of the kernel, all zero: SIG_DFL (rt_sigaction(2)).
		c.Do("default action", plan.RtSigaction, args(plan.Num(sig), c.Words("{SIG_DFL}", 0, 0, 0, 0).Ptr(), plan.Null(), plan.Num(8)))
	}
}

// initName is how ps(1) shows an init; a spawner's have it from their spawner.
const initName = "toolcell-init"

// callerLives ends an init whose caller died before the parent-death signal was asked for: the caller's end of the
// channel is closed then, and reading gives an end of file instead of nothing yet. It comes as late as it can, since
// threads of a caller that is being killed may keep that end open for a moment; after the program's start init looks
// again (package forked).
func (c *compiler) callerLives() {
	if !c.spec.Direct {
		return
	}
	c.For(string(sandbox.LifeNoSurvivors))
	c.Call("the caller lives", plan.Recvfrom, args(plan.FD(plan.ChannelFD), c.Buffer(1, "nothing").Ptr(), plan.Num(1),
		plan.Flag(unix.MSG_PEEK|unix.MSG_DONTWAIT, "MSG_PEEK|MSG_DONTWAIT"), plan.Null(), plan.Null()), plan.Want(noResult), plan.Tolerate(uint32(unix.EAGAIN)))
}

// noResult is none that a call can have.
const noResult = -2

func (c *compiler) prctl(name string, option int, text string, arg uint64) {
	c.Do(name, plan.Prctl, args(plan.Flag(option, text), plan.Num(arg), plan.Num(0), plan.Num(0), plan.Num(0)))
}

// nullDevice is what an empty input reads.
const nullDevice = "/dev/null"

// takeStreams puts the call's pipes where programs look for them. Without an input the host's null device takes the place
// until emptyInput, so that nothing that is opened from here on gets descriptor 0.
func (c *compiler) takeStreams() {
	c.For("")
	if c.spec.Armed {
		c.holdStreams()
		return
	}
	if c.spec.FDs.Stdin == 0 {
		c.Call("keep descriptor 0", plan.Openat, args(cwd(), c.Str(nullDevice), plan.Flag(unix.O_RDONLY, "O_RDONLY"), plan.Num(0)), plan.Want(0))
	} else {
		c.dup("standard input", plan.FD(c.spec.FDs.Stdin), 0)
	}
	c.dup("standard output", plan.FD(c.spec.FDs.Stdout), 1)
	c.dup("standard error", plan.FD(c.spec.FDs.Stderr), 2)
}

// holdStreams keeps the places of the streams until they come with the program.
func (c *compiler) holdStreams() {
	c.Call("keep descriptor 0", plan.Openat, args(cwd(), c.Str(nullDevice), plan.Flag(unix.O_RDONLY, "O_RDONLY"), plan.Num(0)), plan.Want(0))
	c.dup("keep descriptor 1", plan.FD(0), 1)
	c.dup("keep descriptor 2", plan.FD(0), 2)
}

func (c *compiler) dup(name string, fd plan.Arg, to int) {
	c.Call(name, plan.Dup3, args(fd, plan.FD(to), plan.Num(0)), plan.Want(int64(to)))
}

// emptyInput makes the sandbox's own null device the input of a program that is given none. The host's, which kept the
// place, could not be opened again through /dev/stdin.
func (c *compiler) emptyInput() {
	if c.spec.FDs.Stdin != 0 && !c.spec.Armed {
		return
	}
	c.For("")
	null := c.Call("an empty input", plan.Openat, args(cwd(), c.Str(nullDevice), plan.Flag(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), plan.Num(0)))
	c.dup("standard input", null.Arg(), 0)
	if c.spec.Armed { // nothing of the host's may be held while it waits
		c.dup("instead of standard output", null.Arg(), 1)
		c.dup("instead of standard error", null.Arg(), 2)
	}
	c.Do("close it", plan.Close, args(null.Arg()))
}

// resetInherited sets what a process inherits from its parent and that would otherwise differ with the caller.
func (c *compiler) resetInherited() {
	c.For(string(sandbox.EnvFiltered))
	c.Call("new session", plan.Setsid, nil)
	c.Call("umask", plan.Umask, args(plan.Flag(0o022, "022")))
	c.Call("personality", plan.Personality, args(plan.Flag(0, "PER_LINUX")))
	c.prctl("default timer slack", unix.PR_SET_TIMERSLACK, "PR_SET_TIMERSLACK", 0)
	// Raising a priority may be forbidden; a caller that runs niced then keeps its sandboxes niced.
	c.Do("default nice", plan.Setpriority, args(plan.Flag(0, "PRIO_PROCESS"), plan.Num(0), plan.Num(0)), plan.Tolerate(uint32(unix.EACCES)))
	c.Do("default scheduler", plan.SchedSetscheduler, args(plan.Num(0), plan.Flag(0, "SCHED_OTHER"), c.Words("{0}", 0).Ptr()), plan.Tolerate(uint32(unix.EPERM)))
	c.Do("default I/O priority", plan.IoprioSet, args(plan.Flag(1, "IOPRIO_WHO_PROCESS"), plan.Num(0), plan.Num(0)), plan.Tolerate(uint32(unix.ENOSYS)))
	mask := make([]uint64, (c.spec.Kernel.CPUs+63)/64)
	for i := range mask {
		mask[i] = ^uint64(0)
	}
	all := c.Words("all CPUs", mask...)
	c.Do("every CPU", plan.SchedSetaffinity, args(plan.Num(0), all.Len(), all.Ptr()))
	// Keyrings are not namespaced: the session keyring is inherited and the user's is shared by its uid (keyrings(7)).
	c.For(string(sandbox.IPCIsolated))
	c.Call("empty session keyring", plan.Keyctl, args(plan.Flag(1, "KEYCTL_JOIN_SESSION_KEYRING"), plan.Null()), plan.Tolerate(uint32(unix.ENOSYS)))
}

// network brings the private loopback up. The namespace has no other interface.
func (c *compiler) network() {
	if c.spec.Spare {
		return // whoever made the namespaces has done it
	}
	c.For(string(sandbox.NetNone))
	s := c.Call("a socket to ask on", plan.Socket, args(plan.Flag(unix.AF_INET, "AF_INET"), plan.Flag(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, "SOCK_DGRAM|SOCK_CLOEXEC"), plan.Num(0)))
	// struct ifreq (netdevice(7)): the name, then the flags.
	ifr := make([]byte, 40)
	copy(ifr, "lo")
	ifr[16] = unix.IFF_UP
	c.Do("loopback up", plan.Ioctl, args(s.Arg(), plan.Flag(unix.SIOCSIFFLAGS, "SIOCSIFFLAGS"), c.Bytes(ifr, `{"lo", IFF_UP}`).Ptr()))
	c.For(string(sandbox.ProcIsolated))
	c.Do("hostname", plan.Sethostname, args(c.Str(c.spec.Hostname), plan.Num(len(c.spec.Hostname))))
}

// enterDir goes to the working directory with the program's own rights, so after the capabilities are gone. A program can
// have left a link there, and init still has the host's own directories open: no link of /proc's to a descriptor is followed
// (CVE-2024-21626).
func (c *compiler) enterDir() {
	c.For("")
	absent := plan.Blame(plan.ClassInvalid, "name a directory that exists inside the sandbox, such as /tmp or a mount's target")
	how := c.Words("{O_PATH|O_DIRECTORY|O_CLOEXEC, 0, NO_MAGICLINKS}", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_MAGICLINKS)
	dir := c.Call("working directory "+c.spec.Dir, plan.Openat2, args(cwd(), c.Str(c.spec.Dir), how.Ptr(), how.Len()), absent)
	c.Do("into it", plan.Fchdir, args(dir.Arg()), absent)
}
