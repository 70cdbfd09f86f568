//go:build linux

package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readOnlyAttempts change a tree that is not theirs to change. args[0] is a directory with a file f, a directory d and
// a link l in it.
func readOnlyAttempts() map[string]try {
	on := func(f func(dir string) error) try {
		return func(args []string) (bool, string) { return worked(f(arg(args, 0))) }
	}
	return map[string]try{
		"ro-create":   on(func(d string) error { return os.WriteFile(d+"/new", nil, 0o600) }),
		"ro-tmpfile":  on(func(d string) error { _, err := unix.Open(d, unix.O_TMPFILE|unix.O_RDWR, 0o600); return err }),
		"ro-write":    on(func(d string) error { return os.WriteFile(d+"/f", []byte("changed"), 0) }),
		"ro-truncate": on(func(d string) error { return unix.Truncate(d+"/f", 0) }),
		"ro-chmod":    on(func(d string) error { return unix.Chmod(d+"/f", 0o777) }),
		"ro-chown":    on(func(d string) error { return unix.Chown(d+"/f", os.Getuid(), os.Getgid()) }),
		"ro-lchown":   on(func(d string) error { return unix.Lchown(d+"/l", os.Getuid(), os.Getgid()) }),
		"ro-utime":    on(func(d string) error { return os.Chtimes(d+"/f", time.Unix(1, 0), time.Unix(1, 0)) }),
		"ro-setxattr": on(func(d string) error { return unix.Setxattr(d+"/f", "user.toolcell", []byte("x"), 0) }),
		"ro-rename":   on(func(d string) error { return unix.Rename(d+"/f", d+"/g") }),
		"ro-exchange": on(func(d string) error {
			return unix.Renameat2(unix.AT_FDCWD, d+"/f", unix.AT_FDCWD, d+"/l", unix.RENAME_EXCHANGE)
		}),
		"ro-unlink":  on(func(d string) error { return unix.Unlink(d + "/f") }),
		"ro-rmdir":   on(func(d string) error { return unix.Rmdir(d + "/d") }),
		"ro-mkdir":   on(func(d string) error { return unix.Mkdir(d+"/new", 0o700) }),
		"ro-link":    on(func(d string) error { return unix.Link(d+"/f", d+"/g") }),
		"ro-symlink": on(func(d string) error { return unix.Symlink("f", d+"/g") }),
		"ro-mkfifo":  on(func(d string) error { return unix.Mkfifo(d+"/g", 0o600) }),
		"ro-map":     on(mapWritable),
		"ro-reopen":  on(reopen),
		"ro-fallocate": on(func(d string) error {
			fd, err := unix.Open(d+"/f", unix.O_RDWR, 0)
			if err != nil {
				return err
			}
			return unix.Fallocate(fd, 0, 0, 1<<16)
		}),
		"ro-flags": on(setFlags),
	}
}

// mapWritable maps a file for writing.
func mapWritable(d string) error {
	fd, err := unix.Open(d+"/f", unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// reopen turns a descriptor for reading into one for writing.
func reopen(d string) error {
	f, err := os.Open(d + "/f")
	if err != nil {
		return err
	}
	_, err = unix.Open("/proc/self/fd/"+itoa(int(f.Fd())), unix.O_RDWR, 0)
	return err
}

// setFlags sets the no-dump flag of a file.
func setFlags(d string) error {
	fd, err := unix.Open(d+"/f", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|0x40 /* FS_NODUMP_FL */)
}
