package forked

import (
	"syscall"
	"unsafe"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// Request is one fork, filled before it.
type Request struct {
	// Flags are the namespaces, as for clone3(2).
	Flags uint64
	// FDs are the descriptors for the child in the order of their places: the channel, the attention, the plan, the program,
	// the rest.
	FDs [plan.MaxFDs]int32
	// N is how many of them are used; at least four.
	N int
	// Cgroup, with CLONE_INTO_CGROUP among the flags, is the directory of the cgroup (v2) that the child is born in.
	Cgroup int32
	// Lifetime is after how many nanoseconds from the program's start the child ends by itself; 0 is never. With a
	// lifetime it also ends, some time later, when the other end of its channel is closed.
	Lifetime int64
	own      own
}

// own is what [Forker.Fork] and the child alone use. It is not on the stack, where there is little room for functions that
// must not let it grow.
type own struct {
	clone cloneArgs
	lease lease
	usage syscall.Rusage
}

// cloneArgs is struct clone_args (linux/sched.h) in its third version, CLONE_ARGS_SIZE_VER2.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// cloneArgsFirst is the size of its first version, CLONE_ARGS_SIZE_VER0, which is all that a child takes that is born in no
// cgroup.
const cloneArgsFirst = 64

const (
	clonePidfd        = 0x1000        // CLONE_PIDFD, Linux 5.2
	cloneClearSighand = 0x100000000   // CLONE_CLEAR_SIGHAND, Linux 5.5
	cloneIntoCgroup   = 0x200000000   // CLONE_INTO_CGROUP, Linux 5.7
	sysClone3         = 435           // Linux 5.3, one number on every architecture
	sigSetmask        = 2             // SIG_SETMASK
	sigsetSize        = 8             // the kernel's sigset_t
	allSignals        = ^uint64(0)    // SIGKILL and SIGSTOP stay deliverable whatever is asked (sigprocmask(2))
	failedExit        = uintptr(0x7f) // exit status of a child that reported a fault
)

// Forker forks the process. It holds the memory that a child runs on: a mapping of its own, so that the process may
// keep everything else of its memory, the Go heap above all, from being copied (MADV_DONTFORK). Use it from one locked
// thread. The child's parent-death signal follows that thread.
type Forker struct {
	memory unsafe.Pointer
}

// forkMemory is the size of a Forker's mapping: the request at its start, the child's stack at its end.
const forkMemory = 64 << 10

// NewForker maps the memory. It stays mapped for as long as the process lives.
func NewForker() (*Forker, error) {
	addr, _, errno := syscall.RawSyscall6(syscall.SYS_MMAP, 0, forkMemory,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS, ^uintptr(0), 0)
	if errno != 0 {
		return nil, errno
	}
	return &Forker{memory: pointer(addr)}, nil
}

// Memory returns where the mapping starts and ends.
func (f *Forker) Memory() (start, end uintptr) {
	return uintptr(f.memory), uintptr(f.memory) + forkMemory
}

// Fork forks the calling process into new namespaces. In the parent it returns the child's pid and a pidfd of it. The
// child never returns: it executes the plan, starts the program and waits for it.
//
//go:nosplit
//go:norace
func (f *Forker) Fork(r *Request) (pid, pidfd int, errno syscall.Errno) {
	var (
		mask, old uint64 = allSignals, 0
		fd        int32  = -1
		size             = uintptr(cloneArgsFirst)
	)
	*(*Request)(f.memory) = *r
	args := &(*Request)(f.memory).own.clone
	args.flags, args.exitSignal = r.Flags|clonePidfd|cloneClearSighand, uint64(syscall.SIGCHLD)
	args.pidfd = uint64(uintptr(unsafe.Pointer(&fd)))
	if r.Flags&cloneIntoCgroup != 0 {
		args.cgroup, size = uint64(r.Cgroup), unsafe.Sizeof(*args)
	}
	// Blocked across the fork, since a handler of the Go runtime must never run in the child, nor on its stack.
	// CLONE_CLEAR_SIGHAND takes the handlers away, so the mask of the child may be changed later.
	_, _, errno = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetmask,
		uintptr(unsafe.Pointer(&mask)), uintptr(unsafe.Pointer(&old)), sigsetSize, 0, 0)
	if errno != 0 {
		return 0, -1, errno
	}
	child := cloneOnStack(args, size, unsafe.Add(f.memory, forkMemory-stackSlack), f.memory)
	// Restoring a mask that was in force before cannot fail.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, sigSetmask, uintptr(unsafe.Pointer(&old)), 0, sigsetSize, 0, 0)
	if int64(child) < 0 {
		return 0, -1, syscall.Errno(-child)
	}
	return int(child), int(fd), 0
}

// stackSlack stays free above the child's stack. The stack pointer below it is aligned to 16.
const stackSlack = 64

// cloneOnStack makes the clone3(2) call on another stack, and returns its result, the new pid or a negative errno, on
// the old one. The child calls run with the request and stays on that stack. It is assembly because a Go function
// cannot change the stack it runs on.
//
//go:noescape
func cloneOnStack(args *cloneArgs, size uintptr, stack, request unsafe.Pointer) uintptr
