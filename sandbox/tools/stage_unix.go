//go:build !windows

package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// giveTo makes a directory writable for the user that the program runs as. An ordinary caller's program is the caller
// on every backend, so only root has to change the owner.
func giveTo(dir string, user sandbox.UserSpec) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := int(user.UID), int(user.GID)
	if user.Auto {
		uid, gid = insideID, insideID
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return fmt.Errorf("give the directory to the program's user: %w", err)
	}
	return nil
}

// hold locks a directory until it is closed, or this process ends: flock(2). It so is told apart from one that a process
// left which was killed.
func hold(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("hold the call's directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("hold the call's directory: %w", err), f.Close())
	}
	return f, nil
}

// sweepAge is how old a directory is before it can be taken for one that nobody holds: between its making and its lock is
// a moment.
const sweepAge = time.Minute

// sweep removes what processes of this user have left that were killed.
func sweep(temp string) {
	if temp == "" {
		temp = os.TempDir()
	}
	found, err := filepath.Glob(filepath.Join(temp, stagePrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm() != 0o700 {
			continue
		}
		if held, err := hold(dir); err == nil {
			_ = (&stage{dir: dir, held: held}).remove() // what cannot be removed was there before
		}
	}
}
