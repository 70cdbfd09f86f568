package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/soulacy/toolcell/sandbox"
)

// Where a call finds its code and leaves its files.
const (
	codeTarget   = "/code"
	outputTarget = "/output"
)

// insideID is who the program of a root caller is: what backends use for "auto".
const insideID = 65532

// stage holds the host's side of a call's own directories. Both are below one directory that no other user can enter.
type stage struct {
	dir  string
	code string
	// leave gives up the sandbox that waits for the call, should the call not have taken it; see [Ahead].
	leave func() error
	// later, unless it is nil, has something done that nobody waits for. It is false when that is to be done at once.
	later func(func() error) bool
	// ended is called when nothing of the call is left, but for what is done later.
	ended func()
	// held is the directory, locked for as long as this process lives; nil where that cannot be.
	held *os.File
}

// stagePrefix begins the names of the directories, and of no other: what sweep finds by it is removed.
const stagePrefix = "toolcell-call-"

// newStage makes the directories and writes the code.
func newStage(temp, file, code string, user sandbox.UserSpec) (*stage, error) {
	dir, err := os.MkdirTemp(temp, stagePrefix)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the call: %w", err)
	}
	// A mount's source may not be reached by a link.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a directory for the call: %w", err), os.RemoveAll(dir))
	}
	s := &stage{dir: real, code: file, leave: func() error { return nil }, ended: func() {}}
	if s.held, err = hold(real); err == nil {
		err = s.fill(code, user)
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *stage) fill(code string, user sandbox.UserSpec) error {
	// The program may be another user than the caller, so the code is readable by all who get to see it.
	if err := makeDir(s.codeDir(), 0o755); err != nil {
		return err
	}
	if err := s.write(code); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(s.codeDir(), s.code), 0o644); err != nil {
		return fmt.Errorf("write the code: %w", err)
	}
	if err := makeDir(s.outputDir(), 0o700); err != nil {
		return err
	}
	return giveTo(s.outputDir(), user)
}

// write writes the code, which only this process can.
func (s *stage) write(code string) error {
	if err := os.WriteFile(filepath.Join(s.codeDir(), s.code), []byte(code), 0o600); err != nil {
		return fmt.Errorf("write the code: %w", err)
	}
	return nil
}

// end gives up everything that a call left. What lies in its directories has been taken out by now, so the call need not
// wait until they are removed.
func (s *stage) end() error {
	defer s.ended()
	err := s.leave()
	if s.later != nil && s.later(s.remove) {
		return err
	}
	return errors.Join(err, s.remove())
}

// makeDir makes a directory whatever the umask is.
func makeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for the call: %w", err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("make a directory for the call: %w", err)
	}
	return nil
}

func (s *stage) codeDir() string   { return filepath.Join(s.dir, "code") }
func (s *stage) outputDir() string { return filepath.Join(s.dir, "output") }

// mounts are what the program sees of the stage. The code's file is no
// program and cannot be made one, so nothing is kept from being run there; in the output directory that is the profile's
// word about the scratch.
func (s *stage) mounts(output bool, exec bool) []sandbox.Mount {
	ms := []sandbox.Mount{{Source: s.codeDir(), Target: codeTarget, Exec: true}}
	if output {
		ms = append(ms, sandbox.Mount{Source: s.outputDir(), Target: outputTarget, Writable: true, Exec: exec})
	}
	return ms
}

// remove removes everything, also below directories that the program made unreadable.
func (s *stage) remove() error {
	if s.held != nil {
		defer s.held.Close()
	}
	flatErr := flatten(s.dir, []string{filepath.Base(s.codeDir()), filepath.Base(s.outputDir())})
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the call's directory: %w", errors.Join(err, flatErr))
	}
	return nil
}

// flatten empties directories of dir and removes them. [os.RemoveAll] has a file open for every level, and a program can
// nest its directories deeper than a process may have files; so each one is moved to the top before it is emptied.
func flatten(dir string, todo []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range todo {
		if err := root.Chmod(name, 0o700); err != nil {
			return err
		}
	}
	for moved := 0; len(todo) > 0; {
		entries, err := readDir(root, todo[0], 1024)
		if err == nil && len(entries) == 0 {
			err, todo = root.Remove(todo[0]), todo[1:]
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			top := "d" + strconv.Itoa(moved)
			if err := takeOut(root, path.Join(todo[0], e.Name()), top, e.IsDir()); err != nil {
				return err
			}
			if e.IsDir() {
				moved++
				todo = append(todo, top)
			}
		}
	}
	return nil
}

// takeOut removes a name, or moves a directory to another one.
func takeOut(root *os.Root, name, top string, isDir bool) error {
	if !isDir {
		return root.Remove(name)
	}
	// To move a directory is to write into it.
	if err := root.Chmod(name, 0o700); err != nil {
		return err
	}
	return root.Rename(name, top)
}
