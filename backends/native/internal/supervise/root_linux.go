package supervise

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrStranded is why a supervisor ends whose thread that forks did not come back from namespaces that are a call's: what
// it does next would be done in them.
var ErrStranded = errors.New("the thread that forks did not come back from a call's namespaces")

// inside has fork called by a thread that is in the mount namespace root, unless that is -1, and goes back to where it
// was. Then the child's mounts are a copy of those there, and its root and working directory the root of them.
func (s *Supervisor) inside(root int, fork func() error) error {
	if root < 0 {
		return fork()
	}
	if err := s.leaveThreads(); err != nil {
		return err
	}
	if err := unix.Setns(root, unix.CLONE_NEWNS); err != nil {
		return err
	}
	err := fork()
	if back := unix.Setns(s.home, unix.CLONE_NEWNS); back != nil {
		return fmt.Errorf("%w: %w", ErrStranded, back)
	}
	return err
}

// takePrepared returns the mount namespace of a process that says that its root is done; -1 for any other call, and where
// it cannot be had or entered, as under a filter that forbids setns(2), which is tried before any call depends on it. No
// other moment will do: before, the host's tree is still in it.
func (s *Supervisor) takePrepared(c *call) (int, error) {
	if !c.prepares {
		return -1, nil
	}
	proc, err := openProc(c.pid)
	if err != nil {
		return -1, nil
	}
	defer unix.Close(proc)
	mounts, err := unix.Openat(proc, "ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil
	}
	err = s.inside(mounts, func() error { return nil })
	if err == nil {
		return mounts, nil
	}
	_ = unix.Close(mounts)
	if errors.Is(err, ErrStranded) {
		return -1, err
	}
	return -1, nil
}

// leaveThreads gives this thread a root and working directory of its own, as setns(2) wants them for a mount namespace,
// and notes where home is. The Go runtime's threads are not to have anything to do with it: this one is locked.
func (s *Supervisor) leaveThreads() error {
	if s.home >= 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	fd, err := unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		s.home = fd
	}
	return err
}
