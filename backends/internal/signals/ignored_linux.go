package signals

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction of amd64 and arm64 (rt_sigaction(2)).
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	sigIgn = 1
	// last is the highest signal, SIGRTMAX of signal(7).
	last = 64
)

// Unignore gives every signal that this process ignores its default action. An ignored signal stays ignored across
// execve(2), so that it would reach whatever is started: what nohup(1) leaves, and from posix_spawn(3) of glibc also its
// own two (SIGCANCEL and SIGSETXID, 32 and 33), which the Go runtime does not touch.
func Unignore() error {
	for sig := 1; sig <= last; sig++ {
		if sig == int(unix.SIGKILL) || sig == int(unix.SIGSTOP) {
			continue
		}
		ignored, err := isIgnored(sig)
		if err == nil && ignored {
			err = setDefault(sig)
		}
		if err != nil {
			return fmt.Errorf("signal %d: %w", sig, err)
		}
	}
	return nil
}

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
