package cgroup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dir is a cgroup directory: rel below an open one. Everything goes through that descriptor, so a path that is renamed
// or mounted over later changes nothing.
type dir struct {
	root *os.File
	rel  string // "." for root itself
	// kept are files that are open for reading already; nil is none.
	kept map[string]*os.File
}

// keep opens files for a later read, which is then a third as long. One that cannot be opened now is by that read, whose
// error it is.
func (d *dir) keep(names ...string) {
	for _, name := range names {
		if f, err := d.open(name, unix.O_RDONLY); err == nil {
			if d.kept == nil {
				d.kept = make(map[string]*os.File)
			}
			d.kept[name] = f
		}
	}
}

// openDir opens a directory and checks that it is of a cgroup file system, which a mount point alone does not prove.
func openDir(name string) (dir, error) {
	var fd int
	err := restart(func() (err error) {
		fd, err = unix.Open(name, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return dir{}, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return dir{root: os.NewFile(uintptr(fd), name), rel: "."}, nil // the poller has nothing to do with it
}

// isCgroup reports an error unless the file system is cgroup or cgroup2.
func (d dir) isCgroup() error {
	var st unix.Statfs_t
	err := d.control(func(fd int) error { return unix.Fstatfs(fd, &st) })
	if err == nil && st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC {
		err = unix.ENOTSUP
	}
	if err != nil {
		return fmt.Errorf("%s is no cgroup file system: %w", d.root.Name(), err)
	}
	return nil
}

// path is for messages.
func (d dir) path(name string) string { return path.Join(d.root.Name(), d.rel, name) }

func (d dir) sub(name string) dir { return dir{root: d.root, rel: path.Join(d.rel, name)} }

func (d dir) fail(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: d.path(name), Err: err}
}

// restart repeats f as long as a signal interrupts it. Go's scheduler sends signals, and the v1 memory limit answers
// one with EINTR even where SA_RESTART is set (mem_cgroup_resize_max, mm/memcontrol-v1.c).
func restart(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// control calls f with the open directory, which a Close elsewhere cannot turn into another file meanwhile.
func (d dir) control(f func(fd int) error) error {
	conn, err := d.root.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		result = restart(func() error { return f(int(fd)) })
	})
	return join(err, result)
}

func (d dir) openat(name string, flags int) (fd int, err error) {
	err = d.control(func(at int) (err error) {
		fd, err = unix.Openat(at, path.Join(d.rel, name), flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		return err
	})
	if err != nil {
		return -1, d.fail("open", name, err)
	}
	return fd, nil
}

// open returns a file that the caller closes.
func (d dir) open(name string, flags int) (*os.File, error) {
	fd, err := d.openat(name, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), d.path(name)), nil
}

func (d dir) write(name, value string) error {
	fd, err := d.openat(name, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	var n int
	err = restart(func() (err error) {
		n, err = unix.Write(fd, []byte(value))
		return err
	})
	if err == nil && n != len(value) {
		err = io.ErrShortWrite
	}
	if err = join(err, unix.Close(fd)); err != nil {
		return d.fail("write "+strconv.Quote(value)+" to", name, err)
	}
	return nil
}

func (d dir) writeInt(name string, value int64) error {
	return d.write(name, strconv.FormatInt(value, 10))
}

// read returns a small file without its last newline.
func (d dir) read(name string) (string, error) {
	if f := d.kept[name]; f != nil {
		return d.readAll(name, f)
	}
	f, err := d.open(name, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return d.readAll(name, f)
}

// readAll reads an open file from its start.
func (d dir) readAll(name string, f *os.File) (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
	if err != nil {
		return "", d.fail("read", name, err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

func (d dir) readInt(name string) (int64, error) {
	text, err := d.read(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, d.fail("read", name, err)
	}
	return n, nil
}

// readKey returns the number behind a key in a file of "key number" lines.
func (d dir) readKey(name, key string) (int64, error) {
	text, err := d.read(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, key+" "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return 0, d.fail("read", name, err)
			}
			return n, nil
		}
	}
	return 0, d.fail("read", name, fmt.Errorf("no line %q", key))
}

// readOptional is readInt for a figure that older kernels do not have.
func (d dir) readOptional(name string) (*int64, error) {
	n, err := d.readInt(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &n, err
}

// has reports whether a file exists.
func (d dir) has(name string) (bool, error) {
	err := d.control(func(at int) error {
		return unix.Faccessat(at, path.Join(d.rel, name), unix.F_OK, 0)
	})
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, d.fail("access", name, err)
	}
	return true, nil
}

// chown gives a file to a user.
func (d dir) chown(name string, uid uint32) error {
	err := d.control(func(at int) error {
		return unix.Fchownat(at, path.Join(d.rel, name), int(uid), -1, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return d.fail("chown", name, err)
	}
	return nil
}

func (d dir) mkdir() error {
	err := d.control(func(at int) error { return unix.Mkdirat(at, d.rel, 0o755) })
	if err != nil {
		return d.fail("mkdir", "", err)
	}
	return nil
}

// rmdir removes the directory. That it is gone already is no error.
func (d dir) rmdir() error {
	err := d.control(func(at int) error { return unix.Unlinkat(at, d.rel, unix.AT_REMOVEDIR) })
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV) {
		return d.fail("rmdir", "", err)
	}
	return nil
}

// children returns the names of the directories in d; none when d is gone.
func (d dir) children() ([]string, error) {
	f, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil && !gone(err) {
		return nil, fmt.Errorf("read %s: %w", d.path(""), err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// gone reports that a directory vanished while it was looked at.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV)
}
