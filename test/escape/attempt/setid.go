//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setIDAttempts leave a program behind that runs with the rights of its owner, or of its group. In a declared mount of
// root's the owner on disk is root, and the mount's nosuid is the sandbox's alone: whoever runs the file on the host has them.
func setIDAttempts() map[string]try {
	out := map[string]try{}
	for name, bits := range map[string]uint32{"setuid": unix.S_ISUID, "setgid": unix.S_ISGID} {
		for way, make := range setIDWays() {
			out[name+"-"+way] = func(args []string) (bool, string) {
				p := filepath.Join(arg(args, 0), "program")
				err := make(p, bits|0o755)
				var st unix.Stat_t
				if err == nil {
					err = unix.Stat(p, &st)
				}
				_ = os.Remove(p)
				if err == nil && st.Mode&bits == 0 {
					err = errors.New("the bit is not set")
				}
				return worked(err)
			}
		}
	}
	return out
}

// setIDWays are the calls that give a file a mode.
func setIDWays() map[string]func(path string, mode uint32) error {
	return map[string]func(string, uint32) error{
		"chmod":    afterMaking(func(p string, _ int, mode uint32) error { return unix.Fchmodat(unix.AT_FDCWD, p, mode, 0) }),
		"fchmod":   afterMaking(func(_ string, fd int, mode uint32) error { return unix.Fchmod(fd, mode) }),
		"chmodat2": afterMaking(chmodAt2),
		"create": func(p string, mode uint32) error {
			fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
			return errors.Join(err, unix.Close(fd))
		},
		"openat2": func(p string, mode uint32) error {
			fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: uint64(mode)})
			return errors.Join(err, unix.Close(fd))
		},
		"tmpfile": func(p string, mode uint32) error {
			fd, err := unix.Open(filepath.Dir(p), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p, unix.AT_SYMLINK_FOLLOW)
		},
		"mknod": func(p string, mode uint32) error { return unix.Mknod(p, unix.S_IFREG|mode, 0) },
	}
}

func afterMaking(change func(path string, fd int, mode uint32) error) func(string, uint32) error {
	return func(p string, mode uint32) error {
		fd, err := unix.Open(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return change(p, fd, mode)
	}
}

// chmodAt2 makes fchmodat2(2), which the wrapper makes only with flags.
func chmodAt2(p string, _ int, mode uint32) error {
	name, err := unix.BytePtrFromString(p)
	if err != nil {
		return err
	}
	dir := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(mode), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
