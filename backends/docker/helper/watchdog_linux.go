package helper

import (
	"fmt"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsyscall "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// confine takes from the watchdog, and from the commands that it runs, the right to write anything but the directory that
// it is to remove. It is a second lock on a program of our own, so a kernel without Landlock goes without.
func confine(w Watch) error {
	if !w.Daemon {
		return nil // an engine without a daemon is the command itself, and writes its own files
	}
	err := landlock.V5.BestEffort().RestrictPaths(
		landlock.RODirs("/"),
		// They may be gone already, with a caller that ended at once.
		landlock.RWDirs(w.Dir).IgnoreIfMissing(),
		landlock.PathAccess(llsyscall.AccessFSRemoveDir, filepath.Dir(w.Dir)).IgnoreIfMissing(),
		landlock.RWFiles("/dev/null").IgnoreIfMissing(),
	)
	if err != nil {
		return fmt.Errorf("confine the watchdog: %w", err)
	}
	return nil
}
