package server

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file until it is closed, by its process's end at the latest, unless another process has.
func tryLock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}

// own reports whether a file belongs to this process's user: the directory for temporary files is each user's own.
func own(fs.FileInfo) bool { return true }
