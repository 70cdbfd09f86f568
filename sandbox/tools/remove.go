package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveWorkspace removes a directory that programs wrote to, with everything in it, also where they nested directories
// deeper than this process may have files, and made them unreadable. No program may still be writing. One that is not there
// is no error.
func RemoveWorkspace(dir string) error {
	err := removeTree(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove a workspace: %w", err)
	}
	return nil
}

// removeTree moves a directory into an empty one beside it, in which flatten may use any name.
func removeTree(dir string) (err error) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return errors.Join(err, notDir(info))
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "toolcell-remove-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	// To move a directory is to write into it.
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(beside, "tree")); err != nil {
		return err
	}
	return flatten(beside, []string{"tree"})
}

func notDir(info fs.FileInfo) error {
	if info == nil {
		return nil
	}
	return errors.New("it is no directory")
}
