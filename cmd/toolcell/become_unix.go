//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// become makes this process the program. It returns only when that fails.
func become(program string, args []string) error {
	return becomeError(program, syscall.Exec(program, append([]string{program}, args...), os.Environ()))
}

// trusted refuses a program that somebody else could have changed.
func trusted(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("others may write to it")
	}
	return nil
}
