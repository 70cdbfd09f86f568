//go:build !windows

package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func checkProgram(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("mode %#o lets others write to it", info.Mode().Perm())
	}
	if info.Mode().Perm()&0o005 != 0o005 {
		return fmt.Errorf("mode %#o keeps the sandbox's user from executing it", info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it is owned by uid %d, which is neither root nor the caller", st.Uid)
	}
	return nil
}
