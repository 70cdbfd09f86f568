package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/soulacy/toolcell/sandbox/tools"
)

// dirPattern is how the directories of servers are named, and lockName the file in them that a living one holds locked.
const (
	dirPattern = "toolcell-mcp-*"
	lockName   = "lock"
)

// Dir is a server's private directory, for [Options].Dir. What a killed server left, the next one removes.
type Dir struct {
	// Path is where it is.
	Path string
	lock *os.File
}

// errTaken says that another server took a new directory for one that was left, before it was locked.
var errTaken = errors.New("another server removes it")

// MakeDir makes a directory below parent, "" being [os.TempDir], and removes those that killed servers of the same user left
// there. What cannot be removed is in left; the directory is good all the same.
func MakeDir(parent string) (d *Dir, left, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	// A mount's source may not be reached by a link.
	if parent, err = filepath.EvalSymlinks(parent); err == nil {
		parent, err = filepath.Abs(parent)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for the server: %w", err)
	}
	left = sweep(parent)
	for range 100 {
		if d, err = makeLocked(parent); !errors.Is(err, errTaken) {
			break
		}
	}
	if err != nil {
		return nil, left, fmt.Errorf("make a directory for the server: %w", err)
	}
	return d, left, nil
}

func makeLocked(parent string) (*Dir, error) {
	dir, err := os.MkdirTemp(parent, dirPattern)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	if err := tryLock(lock); err != nil {
		return nil, errors.Join(errTaken, lock.Close())
	}
	return &Dir{Path: dir, lock: lock}, nil
}

// Close removes the directory. The server has ended.
func (d *Dir) Close() error { return removeDir(d.Path, d.lock) }

// sweep removes what killed servers left.
func sweep(parent string) error {
	names, err := filepath.Glob(filepath.Join(escapeGlob(parent), dirPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range names {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && own(info) {
			errs = append(errs, sweepOne(dir))
		}
	}
	return errors.Join(errs...)
}

func sweepOne(dir string) error {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(dir) // it is empty, or none of a server's
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at what a server left: %w", err)
	}
	if tryLock(lock) != nil {
		return lock.Close() // it lives
	}
	return removeDir(dir, lock)
}

// removeDir removes a server's directory: what programs wrote, the lock, which it closes, and itself.
func removeDir(dir string, lock *os.File) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Join(fmt.Errorf("remove a server's directory: %w", err), lock.Close())
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() {
			errs = append(errs, tools.RemoveWorkspace(filepath.Join(dir, e.Name())))
		}
	}
	errs = append(errs, lock.Close()) // some systems remove no file that is open
	if err := errors.Join(errs...); err != nil {
		return err // the lock's file stays, by which the next server finds it
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove a server's directory: %w", err)
	}
	return nil
}

// escapeGlob makes a pattern of a path that matches that path.
func escapeGlob(path string) string {
	var out []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' && filepath.Separator == '/' {
			out = append(out, '[', c, ']')
			continue
		}
		out = append(out, path[i])
	}
	return string(out)
}
