//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileAttempts concern files.
func fileAttempts() []attempt {
	return []attempt{
		{"create a file in the root directory", func(target) error { return create("/") }},
		{"create a file beside the system's programs", func(target) error { return create("/bin") }},
		{"create a file in a read-only mount", func(t target) error { return create(t.readOnly) }},
		{"read a file of the host", func(t target) error { return contains(t.secret, t.mark) }},
		{"run a program dropped in /tmp", func(target) error { return drop("/tmp") }},
		{"run a program dropped in /dev/shm", func(target) error { return drop("/dev/shm") }},
		{"make a device", func(target) error {
			return made("/tmp", func(p string) error { return unix.Mknod(p, unix.S_IFCHR|0o600, 1<<8|3) })
		}},
		{"give a file away", func(target) error {
			return made("/tmp", func(p string) error { return after(touch(p), func() error { return os.Chown(p, 1, 1) }) })
		}},
		{"make a program set-user-ID", func(t target) error {
			return made(t.writable, func(p string) error { return after(touch(p), func() error { return unix.Chmod(p, 0o4755) }) })
		}},
		{"become root by a set-user-ID program", setuid},
		{"mount a file system", mount},
		{"outgrow the file size", func(target) error { return made("/tmp", outgrow) }},
		{"fill the scratch", func(target) error { return fill("/tmp") }},
		{"write to the scratch", func(target) error { return create("/tmp") }},
		{"write to a declared mount", func(t target) error { return create(t.writable) }},
	}
}

// broken is what goes wrong before the attempt itself.
type broken struct{ error }

// after makes an attempt when what it needs was there.
func after(err error, attempt func() error) error {
	if err != nil {
		return broken{err}
	}
	return attempt()
}

// made runs make with a new path in dir, and removes what it made.
func made(dir string, make func(path string) error) error {
	path := filepath.Join(dir, fmt.Sprintf("verdict-%d", os.Getpid()))
	err := make(path)
	_ = os.Remove(path) // it may not be there
	return err
}

func touch(path string) error { return os.WriteFile(path, []byte("x"), 0o600) }

func create(dir string) error { return made(dir, touch) }

// contains succeeds when a file has text in it.
func contains(path, text string) error {
	b, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(b, []byte(text)) {
		err = errors.New("it is another file")
	}
	return err
}

// drop copies this program and runs the copy.
func drop(dir string) error {
	return made(dir, func(path string) error {
		b, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(path, b, 0o700)
		}
		return after(err, exec.Command(path, "wait").Run)
	})
}

// setuid runs the set-user-ID copy, as an ordinary user.
func setuid(t target) error {
	cmd := exec.Command(filepath.Join(t.readOnly, "setuid"), "root")
	if os.Geteuid() == 0 {
		const nobody = 65533
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd.Run()
}

func mount(target) error {
	return made("/tmp", func(path string) error {
		if err := os.Mkdir(path, 0o700); err != nil {
			return broken{err}
		}
		err := unix.Mount("none", path, "tmpfs", 0, "size=4k")
		if err == nil {
			err = unix.Unmount(path, 0)
		}
		return err
	})
}

// outgrow writes more than the limit on a file's size, without being ended by it.
func outgrow(path string) error {
	signal.Ignore(unix.SIGXFSZ)
	return os.WriteFile(path, make([]byte, 12<<20), 0o600)
}

// fill writes more than the scratch holds, in files that are small enough.
func fill(dir string) error {
	sub := filepath.Join(dir, fmt.Sprintf("verdict-%d", os.Getpid()))
	if err := os.Mkdir(sub, 0o700); err != nil {
		return broken{err}
	}
	defer os.RemoveAll(sub)
	for i := range 24 {
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), make([]byte, 1<<20), 0o600); err != nil {
			return err
		}
	}
	return nil
}
