package cgroup

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// roomDir is the leaf that takes the processes of a delegated cgroup.
const roomDir = "main"

var errHiddenProcess = errors.New("a process lives there that this pid namespace does not show")

// settleIn settles in base, after making room there where that is this process's to do.
func (m *Manager) settleIn(h *hierarchy, base string) error {
	err := m.settle(h, base)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	made, roomErr := m.makeRoom(base)
	if roomErr != nil {
		return join(err, fmt.Errorf("make room: %w", roomErr))
	}
	if !made {
		return err
	}
	return m.settle(h, base)
}

// makeRoom moves what lives in a cgroup that systemd delegated into a leaf below it, this process as a rule: controllers
// cannot be enabled where processes live. It is what CGROUP_DELEGATION.md of systemd asks of a service, unless the unit
// has DelegateSubgroup= (systemd 254). All of it stays in the unit. Without systemd's mark nothing is moved.
func (m *Manager) makeRoom(base string) (made bool, err error) {
	d, err := openDir(base)
	if err != nil {
		return false, err
	}
	defer d.root.Close()
	if !delegated(d) {
		return false, nil
	}
	leaf := d.sub(roomDir)
	if err := m.mkdir(leaf); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return true, emptyInto(d, leaf)
}

// emptyInto moves every process of d to leaf, those too that are forked meanwhile.
func emptyInto(d, leaf dir) error {
	for range attempts {
		pids, err := d.processes()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if pid == 0 {
				return d.fail("empty", "", errHiddenProcess)
			}
			if err := leaf.writeInt("cgroup.procs", int64(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return d.fail("empty", "", errPopulated)
}
