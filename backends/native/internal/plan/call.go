package plan

// Call names a system call that a plan may make. Its number belongs to the executor, since numbers differ between
// architectures; only calls that arm64 has too are here.
type Call uint8

// The system calls, by their Linux names.
const (
	Capset Call = iota + 1
	Chdir
	Close
	CloseRange
	Dup3
	Faccessat2
	Fchdir
	Fsconfig
	Fsmount
	Fsopen
	Ioctl
	IoprioSet
	Keyctl
	LandlockAddRule
	LandlockCreateRuleset
	LandlockRestrictSelf
	Mkdirat
	Mount
	MountSetattr
	MoveMount
	OpenTree
	Openat
	Openat2
	Personality
	PivotRoot
	Prctl
	Prlimit64
	Recvfrom
	Recvmsg
	RtSigaction
	SchedSetaffinity
	SchedSetscheduler
	Seccomp
	Setgroups
	Sethostname
	Setpriority
	Setresgid
	Setresuid
	Setsid
	Socket
	Statx
	Symlinkat
	Umask
	Umount2
	Unshare
	Write
	numCalls
)

// NumCalls is one more than the largest Call.
const NumCalls = int(numCalls)

// Valid reports whether c is a call of the list.
func (c Call) Valid() bool { return c > 0 && c < numCalls }

// String returns the call's Linux name.
func (c Call) String() string {
	if !c.Valid() {
		return "?"
	}
	return callNames[c]
}

var callNames = [numCalls]string{
	Capset: "capset", Chdir: "chdir", Close: "close", CloseRange: "close_range", Dup3: "dup3",
	Faccessat2: "faccessat2", Fchdir: "fchdir", Fsconfig: "fsconfig", Fsmount: "fsmount", Fsopen: "fsopen",
	Ioctl: "ioctl", IoprioSet: "ioprio_set", Keyctl: "keyctl",
	LandlockAddRule: "landlock_add_rule", LandlockCreateRuleset: "landlock_create_ruleset",
	LandlockRestrictSelf: "landlock_restrict_self",
	Mkdirat:              "mkdirat", Mount: "mount", MountSetattr: "mount_setattr", MoveMount: "move_mount",
	OpenTree: "open_tree", Openat: "openat", Openat2: "openat2", Personality: "personality",
	PivotRoot: "pivot_root", Prctl: "prctl", Prlimit64: "prlimit64", Recvfrom: "recvfrom", Recvmsg: "recvmsg", RtSigaction: "rt_sigaction",
	SchedSetaffinity: "sched_setaffinity", SchedSetscheduler: "sched_setscheduler", Seccomp: "seccomp",
	Setgroups: "setgroups", Sethostname: "sethostname", Setpriority: "setpriority",
	Setresgid: "setresgid", Setresuid: "setresuid", Setsid: "setsid", Socket: "socket", Statx: "statx",
	Symlinkat: "symlinkat", Umask: "umask", Umount2: "umount2", Unshare: "unshare", Write: "write",
}
