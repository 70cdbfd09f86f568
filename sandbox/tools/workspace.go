package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/soulacy/toolcell/sandbox"
)

// MakeWorkspace makes the directory that the builtins' programs see, private to its owner, with the directories above
// it. What it makes for a root caller belongs to the user that programs run as; the owner of a directory that is already
// there stays, since a backend that cannot use it says so with the fix.
func MakeWorkspace(dir string) error {
	if !filepath.IsAbs(dir) {
		return sandbox.Invalid("workspace", "%q is not absolute", short(dir))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the workspace: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	if !info.IsDir() {
		return sandbox.Invalid("workspace", "%q is no directory but %s", short(dir), info.Mode().Type())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	if made {
		return giveTo(dir, sandbox.UserSpec{Auto: true})
	}
	return nil
}
