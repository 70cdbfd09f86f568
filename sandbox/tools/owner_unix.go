//go:build !windows

package tools

import (
	"os"
	"syscall"
)

// inherit gives what a root caller makes to the owner of the directory that it is made in, so that the programs which
// own the workspace can change it. What an ordinary caller makes belongs to it already.
func inherit(root *os.Root, dir string, chown func(uid, gid int) error) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := root.Stat(dir)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return chown(int(s.Uid), int(s.Gid))
}
