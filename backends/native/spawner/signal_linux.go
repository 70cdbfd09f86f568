package spawner

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction of amd64 and arm64 (rt_sigaction(2)).
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const sigIgn = 1

func isIgnored(sig int) (bool, error) {
	var old sigaction
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	if errno != 0 {
		return false, errno
	}
	return old.handler == sigIgn, nil
}

func setDefault(sig int) error {
	var act sigaction
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
