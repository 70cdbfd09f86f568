package supervise

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// SpareNamespaces are the clone flags of the namespaces that can be made ahead of a call, for which nothing of the call
// needs to be known. The network's is the dearest of all.
const SpareNamespaces = unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// spare is a set of them. The thread that forks lives in it until a call takes it along, and so the call's init is born
// there. They belong to the forking process's user namespace, in which the sandbox has no rights at all.
type spare struct {
	// ready says that the thread is in a set that nobody has used.
	ready bool
	// channel is the pair for that call's init, made outside: /proc/net/unix would show it to the sandbox otherwise.
	channel [2]int
	// resting are descriptors of namespaces of the thread's own, in which it is otherwise. It could not go back to the
	// host's.
	resting []int
}

// MakeSpare makes namespaces for one later call, unless there are some.
func (s *Supervisor) MakeSpare() error {
	if s.spare.ready {
		return nil
	}
	if err := s.rest(); err != nil {
		return err
	}
	pair, err := newChannel()
	if err != nil {
		return err
	}
	if err = unix.Unshare(SpareNamespaces); err == nil {
		if err = furnish(); err != nil {
			err = errors.Join(err, s.leaveSpare())
		}
	}
	if err != nil {
		closeBoth(pair)
		return err
	}
	s.spare.channel, s.spare.ready = pair, true
	return nil
}

// takeChannel returns the pair for a request's init.
func (s *Supervisor) takeChannel(flags uint32) ([2]int, error) {
	switch {
	case flags&wire.FlagSpare == 0:
		return newChannel()
	case !s.spare.ready:
		return [2]int{}, unix.EPROTO
	}
	s.spare.ready = false
	return s.spare.channel, nil
}

func newChannel() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
}

func closeBoth(pair [2]int) {
	_ = unix.Close(pair[0])
	_ = unix.Close(pair[1])
}

// furnish does in new namespaces what init would do in its own: loopback is up, and the machine has its name.
func furnish() error {
	if err := unix.Sethostname([]byte(wire.Hostname)); err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// rest makes the namespaces that the thread rests in, and enters them once more: a filter may forbid setns(2), and nothing
// depends on it yet.
func (s *Supervisor) rest() error {
	if s.spare.resting != nil {
		return nil
	}
	if err := unix.Unshare(SpareNamespaces); err != nil {
		return err
	}
	var fds []int
	for _, kind := range []string{"net", "ipc", "uts"} {
		fd, err := unix.Open("/proc/thread-self/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			fds = append(fds, fd)
			err = unix.Setns(fd, 0)
		}
		if err != nil {
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
			return err
		}
	}
	s.spare.resting = fds
	return nil
}

func (p *spare) close() {
	if p.ready {
		closeBoth(p.channel)
	}
	for _, fd := range p.resting {
		_ = unix.Close(fd)
	}
	*p = spare{}
}

// leaveSpare leaves the namespaces to the call that took them.
func (s *Supervisor) leaveSpare() error {
	for _, fd := range s.spare.resting {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("%w: %w", ErrStranded, err)
		}
	}
	return nil
}
