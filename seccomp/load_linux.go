package seccomp

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/seccomp/internal/bpf"
)

// Supported asks the kernel whether it can install the filters of this package. It fails too where an outer filter
// masks seccomp(2).
func Supported() error {
	action := uint32(bpf.KillProcess)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return fmt.Errorf("ask for seccomp's kill-process action: %w", errno)
	}
	return nil
}

// Load confines the whole calling process, for good: it sets no_new_privs (without it a filter needs CAP_SYS_ADMIN,
// and setuid programs would run under a filter that their authors did not expect), then installs the program on every
// thread at once. Both last over fork and exec. When it fails, no filter is installed; no_new_privs may be set.
func Load(program []byte) error {
	prog, err := bpf.Decode(program)
	if err != nil {
		return fmt.Errorf("load seccomp filter: %w", err)
	}
	filters := make([]unix.SockFilter, len(prog))
	for i, in := range prog {
		filters[i] = unix.SockFilter{Code: in.Op, Jt: in.JT, Jf: in.JF, K: in.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}

	// TSYNC copies the no_new_privs of the calling thread to the others, so both calls have to be on one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(filters)
	if errno != 0 {
		return fmt.Errorf("load seccomp filter: %w", errno)
	}
	if tid != 0 {
		return fmt.Errorf("load seccomp filter: thread %d has a filter of its own", tid)
	}
	return nil
}
