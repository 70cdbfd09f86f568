package cgroup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	instancePrefix = "toolcell-"
	instanceBytes  = 8
	// attempts bounds the tries for a name that no sweep takes away.
	attempts = 8
	// sweepWait bounds the removal of one dead instance's directory.
	sweepWait = 2 * time.Second
)

func newName() string {
	var b [instanceBytes]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return instancePrefix + hex.EncodeToString(b[:])
}

// isInstance reports whether a directory's name is one that newName makes.
func isInstance(name string) bool {
	digits, found := strings.CutPrefix(name, instancePrefix)
	b, err := hex.DecodeString(digits)
	return found && err == nil && len(b) == instanceBytes && strings.ToLower(digits) == digits
}

// makeInstance makes and locks the instance's directory below base. Between mkdir and flock a sweep of another instance
// may take it; then the next name is tried.
func (m *Manager) makeInstance(base, name string) (dir, error) {
	parent, err := openDir(base)
	if err != nil {
		return dir{}, err
	}
	defer parent.root.Close()
	if m.standIn == nil {
		if err := parent.isCgroup(); err != nil {
			return dir{}, err
		}
	}
	for try := 0; try < attempts; name, try = newName(), try+1 {
		var d dir
		if d, err = m.tryInstance(parent.sub(name)); err == nil {
			return d, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !gone(err) {
			return dir{}, err
		}
	}
	return dir{}, err
}

func (m *Manager) tryInstance(at dir) (dir, error) {
	if err := m.mkdir(at); err != nil {
		return dir{}, err
	}
	d, err := openDir(at.path(""))
	if err != nil {
		return dir{}, join(err, at.rmdir())
	}
	if err = d.lock(); err == nil {
		// The lock may be on a directory that the sweep has just removed.
		_, err = os.Lstat(at.path(""))
	}
	if err != nil {
		d.root.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) { // whoever holds the lock removes it
			err = join(err, at.rmdir())
		}
		return dir{}, err
	}
	return d, nil
}

// mkdir makes a directory, and in tests without a kernel its files.
func (m *Manager) mkdir(d dir) error {
	if err := d.mkdir(); err != nil {
		return err
	}
	if m.standIn != nil {
		return m.standIn(d.path(""))
	}
	return nil
}

// Sweep removes what instances below the same parent left that are dead: that no longer hold their lock. It kills
// processes that are still in there. It returns the directories removed; the error tells of those that could not be.
// Directories of other users are left alone.
func Sweep(c Config) (removed []string, err error) {
	seen, err := c.Mounts.discover()
	if err != nil {
		return nil, explain("sweep cgroups", "", err)
	}
	var errs []error
	for _, h := range seen.found {
		base, err := h.base(c.Parent)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names, err := sweepDir(base)
		removed, errs = append(removed, names...), append(errs, err)
	}
	return removed, join(errs...)
}

// sweepDir sweeps below one directory; one that does not exist holds nothing.
func sweepDir(base string) (removed []string, err error) {
	parent, err := openDir(base)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer parent.root.Close()
	names, err := parent.children()
	errs := []error{err}
	for _, name := range names {
		if !isInstance(name) {
			continue
		}
		path := filepath.Join(base, name)
		done, err := sweepOne(path)
		if done {
			removed = append(removed, path)
		}
		errs = append(errs, err)
	}
	return removed, join(errs...)
}

// sweepOne removes one instance's directory if it is ours and nobody holds its lock.
func sweepOne(path string) (removed bool, err error) {
	d, err := openDir(path)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer d.root.Close()
	var st unix.Stat_t
	if err := d.control(func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return false, d.fail("stat", "", err)
	}
	if int(st.Uid) != os.Geteuid() {
		return false, nil
	}
	if err := d.lock(); errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if err := removeTree(d, time.Now().Add(sweepWait)); err != nil {
		return false, fmt.Errorf("sweep: %w", err)
	}
	return true, nil
}
