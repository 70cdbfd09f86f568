package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pause is the first wait between two looks at a dying group; it doubles up to maxPause.
const (
	pause    = time.Millisecond
	maxPause = 50 * time.Millisecond
)

var errPopulated = errors.New("still has processes")

// processes returns the ids of the processes in d itself; none when d is gone. Id 0 is a process that this process's pid
// namespace does not show.
func (d dir) processes() ([]int, error) {
	text, err := d.read("cgroup.procs")
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, d.fail("read", "cgroup.procs", err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// kill kills everything in d and waits until it is empty. The deadline bounds the wait; there is always one try.
func (d dir) kill(deadline time.Time) error {
	for wait := pause; ; wait = min(2*wait, maxPause) {
		pids, err := d.processes()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		if err := d.killOnce(pids); err != nil {
			return err
		}
		if !time.Now().Before(deadline) {
			return d.fail("kill", "", fmt.Errorf("%w: %v", errPopulated, pids))
		}
		time.Sleep(wait)
	}
}

// killOnce uses cgroup.kill, which no fork outruns (v2, Linux 5.14), else what is listed.
func (d dir) killOnce(pids []int) error {
	err := d.write("cgroup.kill", "1")
	if err == nil || gone(err) && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, pid := range pids {
		if err := d.killProcess(pid); err != nil {
			return err
		}
	}
	return nil
}

// killProcess kills pid if it is in d. The look at the list after the descriptor is taken makes sure that a number used
// again hits nobody else: if the first owner is gone, the signal fails with ESRCH.
func (d dir) killProcess(pid int) error {
	if pid == 0 || pid == os.Getpid() {
		return nil // the first cannot be named; the second is a mistake of the caller's that the deadline reports
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pidfd_open %d: %w", pid, err)
	}
	defer unix.Close(fd)
	pids, err := d.processes()
	if err != nil {
		return err
	}
	for _, listed := range pids {
		if listed == pid {
			return d.signal(fd, pid)
		}
	}
	return nil
}

func (d dir) signal(fd, pid int) error {
	err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill %d: %w", pid, err)
	}
	return nil
}

// removeTree kills what is in d and below, and removes it. A directory stays busy for a moment after its last process
// ended, hence the repetition.
func removeTree(d dir, deadline time.Time) error {
	if d.remove() == nil {
		return nil // as usual, it was empty
	}
	names, err := d.children()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, removeTree(d.sub(name), deadline))
	}
	if err := join(errs...); err != nil {
		return err
	}
	if err := d.kill(deadline); err != nil {
		return err
	}
	for wait := pause; ; wait = min(2*wait, maxPause) {
		err := d.remove()
		if !errors.Is(err, unix.EBUSY) || !time.Now().Before(deadline) {
			return err
		}
		time.Sleep(wait)
	}
}

// remove is rmdir by whichever name the directory has: an open root has no name below itself.
func (d dir) remove() error {
	if d.rel != "." {
		return d.rmdir()
	}
	err := restart(func() error { return unix.Rmdir(d.root.Name()) })
	if err != nil && !gone(err) {
		return d.fail("rmdir", "", err)
	}
	return nil
}
