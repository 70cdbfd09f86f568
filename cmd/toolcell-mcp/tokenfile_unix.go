//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"syscall"
)

// exposed says why others than root and the caller can know what a file holds, or have written it, and what to do about it;
// "" when they cannot. A POSIX access list that lets others in shows in the group's bits (acl(5), "correspondence between ACL
// entries and file permission bits").
func exposed(info fs.FileInfo, caller int) (cause, fix string) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != caller {
		return fmt.Sprintf("it belongs to uid %d, which knows the token then", st.Uid), fmt.Sprintf("write a new token to a file of uid %d, of mode 0600", caller)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Sprintf("others can read or write it (mode %04o)", mode), "chmod 600 it, and put a new token into it if somebody may have read this one"
	}
	return "", ""
}
