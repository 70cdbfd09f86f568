package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

// WriteArgs are the arguments of write_file.
type WriteArgs struct {
	// Path is where to write: relative to the first root, absolute below any root, or as a program inside sees it,
	// below WorkspaceTarget. Directories above it are made.
	Path string
	// Content is the whole file.
	Content string
	// Isolation is ""; IsolationSandbox is refused, since no program runs.
	Isolation string
}

// Written is what a tool wrote.
type Written struct {
	// Path is the path of the call.
	Path string `json:"path"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
}

// Text is the result as a model reads it.
func (w Written) Text() string {
	return fmt.Sprintf("Wrote %d bytes to %s", w.Bytes, plainName(w.Path))
}

// WriteFile writes a file below the roots. A file is replaced as a whole or not at all; a link inside the roots is
// followed and what it leads to written in place.
func (t Tools) WriteFile(ctx context.Context, a WriteArgs) (Written, error) {
	p, err := t.enter(ctx, Request{Tool: NameWriteFile, Isolation: a.Isolation})
	if err != nil {
		return Written{}, err
	}
	if limit := p.fileLimit(); int64(len(a.Content)) > limit {
		return Written{}, sandbox.Invalid(string(NameWriteFile), "%d bytes, more than %d", len(a.Content), limit)
	}
	s, err := t.locate(NameWriteFile, a.Path)
	if err != nil {
		return Written{}, err
	}
	defer s.Close()
	n, err := s.put(NameWriteFile, func(w io.Writer) (int64, error) {
		n, err := io.Copy(w, strings.NewReader(a.Content))
		return n, err
	})
	if err != nil {
		return Written{}, err
	}
	return Written{Path: a.Path, Bytes: n}, nil
}

// fileLimit is the size of the largest file that a tool may write.
func (p Place) fileLimit() int64 { return int64(p.Profile.WithDefaults().Limits.FileSizeMB) << 20 }

// put writes the spot's file with fill. When it fails, nothing is left that was not there.
func (s spot) put(tool Name, fill func(io.Writer) (int64, error)) (int64, error) {
	if err := s.checkFile(tool); err != nil {
		return 0, err
	}
	made, err := s.makeParents(tool)
	if err != nil {
		return 0, err
	}
	n, err := s.putInto(tool, fill)
	if err != nil {
		s.removeDirs(made)
	}
	return n, err
}

func (s spot) putInto(tool Name, fill func(io.Writer) (int64, error)) (int64, error) {
	// From here on the directory is the one that was opened, whatever its path becomes.
	dir, err := openDir(s.Root, filepath.Dir(s.name))
	if err != nil {
		return 0, s.fault(tool, err)
	}
	defer dir.Close()
	name := filepath.Base(s.name)
	mode := fs.FileMode(0o644)
	t := temporary{spot: s, dir: dir, name: ".toolcell-" + rand.Text()}
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, s.fault(tool, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return t.putThrough(tool, fill)
	case !info.Mode().IsRegular():
		return 0, s.invalid(tool, "it is no regular file ("+info.Mode().Type().String()+")")
	default:
		if err := s.checkProtected(tool, info); err != nil {
			return 0, err
		}
		mode = info.Mode().Perm()
	}
	return t.put(tool, mode, fill)
}

// putThrough writes what a link leads to, once there is all of it. Where that is outside, the Root refuses.
func (t temporary) putThrough(tool Name, fill func(io.Writer) (int64, error)) (int64, error) {
	target, err := t.openLinked(tool)
	if err != nil {
		return 0, err
	}
	defer target.Close()
	whole, err := t.dir.OpenFile(t.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, t.fault(tool, err)
	}
	n, err := fill(whole)
	if err == nil {
		err = target.Truncate(0)
	}
	if err == nil {
		_, err = io.Copy(target, io.NewSectionReader(whole, 0, n))
	}
	if err = errors.Join(err, whole.Close(), t.dir.Remove(t.name)); err != nil {
		return n, t.failed(tool, err)
	}
	return n, nil
}

// openLinked opens the regular file that the spot's link leads to.
func (s spot) openLinked(tool Name) (*os.File, error) {
	f, err := s.OpenFile(s.name, os.O_WRONLY|nonblock, 0)
	if err != nil {
		return nil, s.fault(tool, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, errors.Join(s.invalid(tool, err.Error()), f.Close())
	}
	if err := s.checkProtected(tool, info); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// failed is an error of the writing itself, which another attempt may not have.
func (s spot) failed(tool Name, err error) error {
	var e *sandbox.Error
	if errors.As(err, &e) {
		return err
	}
	var errno syscall.Errno
	if errors.As(err, &errno) { // without this machine's paths and addresses
		err = errno
	}
	return fmt.Errorf("%s: %q: %w", tool, short(s.asked), err)
}

// temporary is a file that takes its name when it is whole.
type temporary struct {
	spot
	dir  *os.Root
	name string
}

func (t temporary) put(tool Name, mode fs.FileMode, fill func(io.Writer) (int64, error)) (int64, error) {
	f, err := t.dir.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, t.fault(tool, err)
	}
	n, err := t.fillFile(f, mode, fill)
	if err = errors.Join(err, f.Close()); err == nil {
		err = t.dir.Rename(t.name, filepath.Base(t.spot.name))
	}
	if err != nil {
		return n, errors.Join(t.failed(tool, err), t.dir.Remove(t.name))
	}
	return n, nil
}

func (t temporary) fillFile(f *os.File, mode fs.FileMode, fill func(io.Writer) (int64, error)) (int64, error) {
	n, err := fill(f)
	if err != nil {
		return n, err
	}
	// Not what the umask leaves of it: the program may be another user.
	if err := f.Chmod(mode); err != nil {
		return n, err
	}
	return n, inherit(t.dir, ".", f.Chown)
}

// makeParents makes the directories above the file and returns those that were not there.
func (s spot) makeParents(tool Name) ([]string, error) {
	var made []string
	dir := ""
	for part := range strings.SplitSeq(filepath.Dir(s.name), string(filepath.Separator)) {
		parent := filepath.Join(".", dir)
		dir = filepath.Join(dir, part)
		err := s.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) || part == "." {
			continue
		}
		if err == nil {
			made = append(made, dir)
			err = inherit(s.Root, parent, func(uid, gid int) error { return s.Lchown(dir, uid, gid) })
		}
		if err != nil {
			s.removeDirs(made)
			return nil, s.fault(tool, err)
		}
	}
	return made, nil
}

// removeDirs removes the directories that were made for a file that is not there after all. One that somebody uses
// meanwhile stays.
func (s spot) removeDirs(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		if s.Remove(made[i]) != nil {
			return
		}
	}
}
