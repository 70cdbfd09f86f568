package supervise

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// archGetFS is ARCH_GET_FS (arch_prctl(2)).
const archGetFS = 0x1003

// threadStorage is the address of the thread's own storage, from which compiled code takes the current goroutine when
// assembly calls it. A program with cgo has it in memory of the C library's, a thread that is not the first in the heap.
func threadStorage() (uintptr, bool) {
	var base uintptr
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, archGetFS, uintptr(unsafe.Pointer(&base)), 0)
	return base, errno == 0
}
