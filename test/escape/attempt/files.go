//go:build linux

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// fileAttempts read or write what no mount shows.
func fileAttempts() map[string]try {
	open := func(p string, flags int) try {
		return func([]string) (bool, string) {
			fd, err := unix.Open(p, flags|unix.O_CLOEXEC, 0)
			if err == nil {
				err = unix.Close(fd)
			}
			return worked(err)
		}
	}
	return map[string]try{
		"read-file":     func(args []string) (bool, string) { return holds(arg(args, 0), arg(args, 1)) },
		"read-shadow":   open("/etc/shadow", unix.O_RDONLY),
		"write-passwd":  open("/etc/passwd", unix.O_WRONLY),
		"write-usr":     open("/usr/lib/os-release", unix.O_WRONLY),
		"read-kmsg":     open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK),
		"read-kcore":    func([]string) (bool, string) { return readsByte("/proc/kcore") },
		"read-kallsyms": kernelSymbols,
		"read-sys":      func([]string) (bool, string) { _, err := os.ReadDir("/sys/kernel"); return worked(err) },
		"write-sysrq": func([]string) (bool, string) {
			return worked(os.WriteFile("/proc/sysrq-trigger", []byte("h"), 0)) // h only prints a help text
		},
		"write-sysctl":  writeSysctl,
		"walk-sysctl":   func([]string) (bool, string) { return walk("/proc/sys", nil, writableFile) },
		"walk-writable": func(args []string) (bool, string) { return walk(arg(args, 0), args[1:], writableAt) },
		"mknod-block":   makeDevice(unix.S_IFBLK, 1, 0),  // the first RAM disk
		"mknod-char":    makeDevice(unix.S_IFCHR, 1, 11), // the kernel's log
		"mknod-kmem":    makeDevice(unix.S_IFCHR, 1, 1),
		"read-disk":     rawDisk,
		"leaked-fds":    leaked,
		"overwrite-exe": overwriteRuntime,
		"link-host":     hardLink,
		"dotdot":        dotDot,
	}
}

// writeSysctl writes to a setting the value that it has.
func writeSysctl([]string) (bool, string) {
	const p = "/proc/sys/vm/overcommit_ratio"
	b, err := os.ReadFile(p)
	if err != nil {
		return worked(err)
	}
	return worked(os.WriteFile(p, b, 0))
}

// kernelSymbols looks for the address of a symbol that is not hidden.
func kernelSymbols([]string) (bool, string) {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return worked(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && strings.Trim(f[0], "0") != "" {
			return true, "an address is shown"
		}
	}
	return false, "no address is shown"
}

// walk visits everything below root and reports what may says can be written, outside the allowed directories.
func walk(root string, allowed []string, may func(string, fs.DirEntry) bool) (bool, string) {
	var found []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read has nothing below that could be reached
		}
		for _, a := range allowed {
			if p == a || strings.HasPrefix(p, a+"/") {
				return fs.SkipDir
			}
		}
		if root == "/" && strings.HasPrefix(p, "/proc/") && !strings.HasPrefix(p, "/proc/sys") && d.IsDir() && filepath.Dir(p) == "/proc" {
			return fs.SkipDir // processes, its own among them
		}
		if may(p, d) {
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		return worked(err)
	}
	return len(found) > 0, fmt.Sprintf("%d writable: %.300q", len(found), found)
}

// writableFile reports whether a regular file opens for writing. It writes nothing. What is mounted at p decides about its
// kind, which the directory entry does not know: a masked file is the null device.
func writableFile(p string, _ fs.DirEntry) bool {
	info, err := os.Lstat(p)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	fd, err := unix.Open(p, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return true
}

// writableAt reports whether a file opens for writing, or one can be made in a directory.
func writableAt(p string, d fs.DirEntry) bool {
	if !d.IsDir() {
		return writableFile(p, d)
	}
	probe := filepath.Join(p, ".toolcell-escape")
	fd, err := unix.Open(probe, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	_ = os.Remove(probe)
	return true
}

// makeDevice makes a device node in args[0] and opens it.
func makeDevice(kind uint32, major, minor uint32) try {
	return func(args []string) (bool, string) {
		p := filepath.Join(arg(args, 0), fmt.Sprintf("device-%d-%d", major, minor))
		if err := unix.Mknod(p, kind|0o666, int(unix.Mkdev(major, minor))); err != nil {
			return worked(fmt.Errorf("mknod: %w", err))
		}
		defer os.Remove(p)
		fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return worked(err)
	}
}

// rawDisk opens any block device by its name.
func rawDisk([]string) (bool, string) {
	for _, p := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop0", "/dev/ram0"} {
		if fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			_ = unix.Close(fd)
			return true, p
		}
	}
	return false, "no block device opens"
}

// leaked looks for a directory among its descriptors and reads args[0], relative to the root, through it.
func leaked(args []string) (bool, string) {
	for fd := 3; fd < 1024; fd++ {
		f, err := unix.Openat(fd, strings.TrimPrefix(arg(args, 0), "/"), unix.O_RDONLY, 0)
		if err == nil {
			_ = unix.Close(f)
			return true, fmt.Sprintf("through descriptor %d", fd)
		}
	}
	return false, "no descriptor leads there"
}

// hardLink gives a file that is mounted read-only a second name in a writable place.
func hardLink(args []string) (bool, string) { return worked(os.Link(arg(args, 0), arg(args, 1))) }

// dotDot climbs out of args[0] by its parents, and reads args[1].
func dotDot(args []string) (bool, string) {
	return holds(arg(args, 0)+strings.Repeat("/..", 40)+arg(args, 1), "")
}

// readsByte reports whether the first byte of a file can be read. A mask can be opened as well, and holds nothing.
func readsByte(p string) (bool, string) {
	f, err := os.Open(p)
	if err != nil {
		return worked(err)
	}
	defer f.Close()
	_, err = io.ReadFull(f, make([]byte, 1))
	return worked(err)
}
