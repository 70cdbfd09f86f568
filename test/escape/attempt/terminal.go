//go:build linux

package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The requests that put words into the mouth of whoever sits at a terminal. linux(4), ioctl_tty(2).
const (
	tiocsti   = 0x5412
	tioclinux = 0x541c
	tiocsetd  = 0x5423
	tioccons  = 0x541d
)

// terminalAttempts use a terminal against its owner. The kernel reads 32 bits of a request's number, so that a filter that
// compares 64 misses the others (CVE-2019-10063).
func terminalAttempts() map[string]try {
	out := map[string]try{}
	for name, high := range map[string]uintptr{"": 0, "-high-bit": 1 << 32, "-all-high-bits": 0xffffffff00000000} {
		out["tiocsti"+name] = request(tiocsti|high, 'x')
		out["tioclinux"+name] = request(tioclinux|high, 2)
	}
	out["tiocsetd"] = request(tiocsetd, 0)
	out["tioccons"] = request(tioccons, 0)
	return out
}

// request makes an ioctl on a terminal of its own, or, where there is none, on the standard input. Any answer but a refusal
// shows that the request came through.
func request(nr uintptr, value byte) try {
	return func([]string) (bool, string) {
		fd, err := terminal()
		if err != nil {
			fd = 0
		}
		arg := [8]byte{value}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), nr, uintptr(unsafe.Pointer(&arg)))
		ok, detail := reached(syscall.Errno(errno))
		return ok, fmt.Sprintf("%s (terminal: %v)", detail, err == nil)
	}
}

// terminal opens a new pseudo terminal and makes it the controlling one, where the kernel demands the least for TIOCSTI.
func terminal() (int, error) {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, err
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Setsid(); err != nil {
		return slave, nil // it leads a session already, or a group; the terminal does without
	}
	return slave, unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0)
}
