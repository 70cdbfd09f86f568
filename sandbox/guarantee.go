package sandbox

// Guarantee is the stable name of one promise of a profile. It is a line of every [Report], of doctor's output and
// of the configuration's require and waive lists.
type Guarantee string

// The guarantees. Each comment is the promise; [Guarantee.Meaning] returns it in one line.
const (
	// FSReadonlyRoot: the root file system cannot be changed.
	FSReadonlyRoot Guarantee = "fs.readonly-root"
	// FSDeclaredWrites: only /tmp, /dev/shm and the declared writable mounts can be written.
	FSDeclaredWrites Guarantee = "fs.declared-writes"
	// FSNoHostFiles: no file of the host is visible but the image and the declared mounts.
	FSNoHostFiles Guarantee = "fs.no-host-files"
	// FSNoexecScratch: a program dropped in /tmp or /dev/shm does not run.
	FSNoexecScratch Guarantee = "fs.noexec-scratch"
	// NetNone: no network but a private loopback.
	NetNone Guarantee = "net.none"
	// ProcIsolated: only its own processes are visible; /proc is masked, /sys absent or masked.
	ProcIsolated Guarantee = "proc.isolated"
	// IPCIsolated: System V IPC, POSIX queues, shared memory, abstract sockets and keyrings are private.
	IPCIsolated Guarantee = "ipc.isolated"
	// LimitProcesses: at most N processes and threads.
	LimitProcesses Guarantee = "limit.processes"
	// LimitMemory: the whole tree uses at most N bytes, no swap, and dies as a whole.
	LimitMemory Guarantee = "limit.memory"
	// LimitCPU: at most N cores at a time.
	LimitCPU Guarantee = "limit.cpu"
	// LimitCPUTime: the whole tree uses at most N seconds of CPU time.
	LimitCPUTime Guarantee = "limit.cpu-time"
	// LimitFiles: open files, the size of one file, and size and inodes of the scratch are bounded.
	LimitFiles Guarantee = "limit.files"
	// LimitWall: the call ends at its deadline.
	LimitWall Guarantee = "limit.wall"
	// LimitOutput: the output kept is bounded; the rest is counted and dropped.
	LimitOutput Guarantee = "limit.output"
	// PrivNonroot: the program is not root, neither inside nor on the host.
	PrivNonroot Guarantee = "priv.nonroot"
	// PrivNoNewPrivileges: setuid programs and file capabilities give nothing.
	PrivNoNewPrivileges Guarantee = "priv.no-new-privileges"
	// PrivNoCapabilities: every capability set is empty and stays so.
	PrivNoCapabilities Guarantee = "priv.no-capabilities"
	// KernelSeccomp: system calls outside the profile are refused.
	KernelSeccomp Guarantee = "kernel.seccomp"
	// KernelLandlock: Landlock confines files, signals and abstract sockets, at the kernel's highest version.
	KernelLandlock Guarantee = "kernel.landlock"
	// IPCNoHostSockets: a Unix socket in a declared mount cannot be reached.
	IPCNoHostSockets Guarantee = "ipc.no-host-sockets"
	// EnvFiltered: the environment holds what was named for the call and nothing of the caller.
	EnvFiltered Guarantee = "env.filtered"
	// LifeNoSurvivors: no process is left when the call returns, is canceled, or its caller is killed.
	LifeNoSurvivors Guarantee = "life.no-survivors"
)

// Guarantees returns every guarantee in the order of reports. The slice is the caller's own.
func Guarantees() []Guarantee {
	return []Guarantee{
		FSReadonlyRoot, FSDeclaredWrites, FSNoHostFiles, FSNoexecScratch,
		NetNone, ProcIsolated, IPCIsolated, IPCNoHostSockets,
		LimitProcesses, LimitMemory, LimitCPU, LimitCPUTime, LimitFiles, LimitWall, LimitOutput,
		PrivNonroot, PrivNoNewPrivileges, PrivNoCapabilities,
		KernelSeccomp, KernelLandlock,
		EnvFiltered, LifeNoSurvivors,
	}
}

// Meaning returns the promise in one line, or "" for a name that is no guarantee.
func (g Guarantee) Meaning() string {
	switch g {
	case FSReadonlyRoot:
		return "the root file system cannot be changed"
	case FSDeclaredWrites:
		return "only /tmp, /dev/shm and declared writable mounts can be written"
	case FSNoHostFiles:
		return "no host file is visible but the image and the declared mounts"
	case FSNoexecScratch:
		return "programs dropped in /tmp or /dev/shm do not run"
	case NetNone:
		return "no network but a private loopback"
	case ProcIsolated:
		return "only its own processes are visible; /proc masked, /sys absent or masked"
	case IPCIsolated:
		return "System V IPC, message queues, shared memory, abstract sockets and keyrings are private"
	case LimitProcesses:
		return "the number of processes and threads is bounded"
	case LimitMemory:
		return "the memory of the whole tree is bounded, without swap"
	case LimitCPU:
		return "the number of cores used at a time is bounded"
	case LimitCPUTime:
		return "the CPU time of the whole tree is bounded"
	case LimitFiles:
		return "open files, file size, scratch size and inodes are bounded"
	case LimitWall:
		return "the call ends at its deadline"
	case LimitOutput:
		return "the output kept is bounded; the rest is counted and dropped"
	case PrivNonroot:
		return "the program is not root, inside or on the host"
	case PrivNoNewPrivileges:
		return "setuid programs and file capabilities give nothing"
	case PrivNoCapabilities:
		return "every capability set is empty and stays so"
	case KernelSeccomp:
		return "system calls outside the profile are refused"
	case KernelLandlock:
		return "Landlock confines files, signals and abstract sockets a second time"
	case IPCNoHostSockets:
		return "a Unix socket in a declared mount cannot be reached"
	case EnvFiltered:
		return "the environment holds what the call names and nothing of the caller"
	case LifeNoSurvivors:
		return "no process is left when the call ends or its caller dies"
	default:
		return ""
	}
}

// Valid reports whether g names a guarantee.
func (g Guarantee) Valid() bool { return g.Meaning() != "" }
