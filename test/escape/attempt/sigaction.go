//go:build linux

package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resetSignal gives s back its default action. The Go runtime keeps its own handler whatever os/signal is told.
func resetSignal(s syscall.Signal) {
	var act [4]uint64 // struct kernel_sigaction with SIG_DFL
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
}
