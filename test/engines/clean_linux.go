package engines

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lockName is the file of an engine's directory that is locked as long as the process that started the engine lives.
const lockName = "owner.lock"

// newDir returns a new directory for an engine, after those of test binaries that were killed are removed. Its path is
// short: a socket's may not be longer than 107 bytes (unix(7)).
func newDir(k Kind) (string, error) {
	prefix := "toolcell-" + string(k) + "-"
	if err := sweep(filepath.Join(os.TempDir(), prefix)); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	locked, err := lock(filepath.Join(dir, lockName), unix.O_CREAT)
	if err == nil && !locked {
		err = fmt.Errorf("%s was locked by another process", dir)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// lock reports whether the file could be locked. The lock ends with this process: the descriptor is not inherited.
func lock(path string, flags int) (bool, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|flags, 0o600)
	if err != nil {
		return false, fmt.Errorf("open %s: %w", path, err)
	}
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return true, nil
	}
	unix.Close(fd)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return false, fmt.Errorf("lock %s: %w", path, err)
}

// sweep removes what engines left whose owner was killed: directories that begin with prefix and whose lock is free. The
// daemon itself ends by its parent-death signal.
func sweep(prefix string) error {
	locks, err := filepath.Glob(prefix + "*/" + lockName)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range locks {
		free, err := lock(l, 0)
		if err == nil && free {
			dir := filepath.Dir(l)
			err = clean(dir, "/"+filepath.Base(dir))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// clean removes what a stopped engine left: mounts below dir, dir itself, and the cgroup in every hierarchy. A process that
// is still in the cgroup is an error.
func clean(dir, cgroup string) error {
	return errors.Join(unmountBelow(dir), os.RemoveAll(dir), removeCgroup(cgroup))
}

// unmountBelow unmounts everything below dir, the last mount first.
func unmountBelow(dir string) error {
	points, err := mountPoints()
	if err != nil {
		return err
	}
	for i := len(points) - 1; i >= 0; i-- {
		if p := points[i]; p == dir || strings.HasPrefix(p, dir+"/") {
			if err := unix.Unmount(p, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
				return fmt.Errorf("unmount %s: %w", p, err)
			}
		}
	}
	return nil
}

// mountPoints returns the fifth field of every line of this process's mountinfo (proc(5)), in order.
func mountPoints() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		if fields := strings.Fields(s.Text()); len(fields) > 4 {
			points = append(points, unescape.Replace(fields[4]))
		}
	}
	return points, s.Err()
}

// removeCgroup removes the cgroup of that name below every hierarchy's root. A cgroup with a process is busy.
func removeCgroup(name string) error {
	if name == "" {
		return nil
	}
	roots, err := filepath.Glob("/sys/fs/cgroup/*")
	if err != nil {
		return err
	}
	var errs []error
	for _, root := range append(roots, "/sys/fs/cgroup") {
		errs = append(errs, removeTree(filepath.Join(root, name)))
	}
	return errors.Join(errs...)
}

// removeSharedCgroup removes a cgroup that others may use too, as far as nobody does.
func removeSharedCgroup(name string) error {
	err := removeCgroup(name)
	if errors.Is(err, unix.EBUSY) {
		return nil
	}
	return err
}

// removeTree removes the directories of a cgroup, the deepest first: its files are the kernel's.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	errs := []error{err}
	for i := len(dirs) - 1; i >= 0; i-- {
		errs = append(errs, unix.Rmdir(dirs[i]))
	}
	return errors.Join(errs...)
}
