//go:build !linux

package docker

import "github.com/soulacy/toolcell/sandbox"

// submount is a mount point and what is mounted there.
type submount struct {
	path, kind string
	kernel     bool
}

// submounts knows of none: no engine here shows this machine's own mounts.
func submounts(string) ([]submount, error) { return nil, nil }

// checkOwner has nothing to check: file sharing maps owners.
func checkOwner(string, sandbox.Mount, *engine, user) error { return nil }
