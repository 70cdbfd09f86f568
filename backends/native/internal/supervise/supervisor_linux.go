package supervise

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// The sources of an epoll event, in the upper half of its data; the lower half is the call's slot. A supervisor's owner
// may have it watch descriptors of its own, with sources from [Sources] on.
const (
	sourceAttention = iota
	sourceInit
	sourceOOM
	Sources
)

// Supervisor makes sandboxes and watches them. It waits for nothing but the end of a process that it has killed; it is
// used by one goroutine at a time, and forked from by one thread only (see [forked.Forker]).
type Supervisor struct {
	epoll  int
	forker *forked.Forker
	// attention is an eventfd by which an init has its channel read.
	attention int
	// home is the mount namespace of the thread that forks; -1 until it leaves it for the first time.
	home  int
	spare spare
	// null is /dev/null, -1 until it is needed. unborn says that no process can be born in a cgroup here.
	null   int
	unborn bool
	tell   Tell
	calls  []*call
	byID   map[uint64]int
	// free are the slots without a call. ended are those that became so while a batch of events is served, in which
	// there may be another one for the call that had it.
	free, ended []int
}

// Tell passes on what is to be said about a call. mounts, unless it is -1, is a descriptor of its mount namespace, which
// Tell takes over. An error of Tell ends the supervisor's work: it comes back from whatever was to be told.
type Tell func(r *wire.Reply, mounts int) error

// New returns a supervisor that tells by tell.
func New(tell Tell) (*Supervisor, error) {
	s := &Supervisor{epoll: -1, attention: -1, home: -1, null: -1, tell: tell, byID: make(map[uint64]int)}
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Supervisor) open() (err error) {
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if s.attention, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if s.forker, err = forked.NewForker(); err != nil {
		return err
	}
	return s.watch(s.attention, sourceAttention, 0)
}

// Close gives the supervisor's own descriptors back, but not a [forked.Forker]'s memory. There must be no call, or its
// end is not noticed any more.
func (s *Supervisor) Close() {
	for _, fd := range []*int{&s.epoll, &s.attention, &s.home, &s.null} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
	s.spare.close()
}

// FD is the epoll descriptor that all events come by. It stays the supervisor's.
func (s *Supervisor) FD() int { return s.epoll }

// Watch has events of another descriptor come with the rest. source is [Sources] or above.
func (s *Supervisor) Watch(fd, source int) error { return s.watch(fd, source, 0) }

// Busy reports whether there is any call.
func (s *Supervisor) Busy() bool { return len(s.byID) > 0 }

// Source is where an event comes from.
func Source(ev *unix.EpollEvent) int { return int(ev.Pad) }

func (s *Supervisor) watch(fd, source, slot int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(slot), Pad: int32(source)}
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &ev)
}

// Handle serves one event of the supervisor's own sources. A call that ended while earlier events of the same batch were
// served has no slot any more.
func (s *Supervisor) Handle(ev *unix.EpollEvent) error {
	source, slot := Source(ev), int(ev.Fd)
	if source == sourceAttention {
		return s.attend()
	}
	c := s.calls[slot]
	if c == nil {
		return nil
	}
	if source == sourceInit {
		return s.finish(slot, c)
	}
	s.unwatch(&c.oom)
	return s.kill(c, wire.CauseOOM)
}

// Settle comes after a batch of events has been served: from here on no event can be about a call that has ended.
func (s *Supervisor) Settle() { s.free, s.ended = append(s.free, s.ended...), s.ended[:0] }

// attend reads the channels of all calls, since one of their inits asked for it.
func (s *Supervisor) attend() error {
	var count [8]byte
	if _, err := unix.Read(s.attention, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return err
	}
	for _, c := range s.calls {
		if c == nil || c.channel < 0 {
			continue
		}
		if err := s.readRecords(c); err != nil {
			return err
		}
	}
	return nil
}

// Kill kills a call. One that is not there has ended in the meantime.
func (s *Supervisor) Kill(id uint64) error {
	if slot, ok := s.byID[id]; ok {
		return s.kill(s.calls[slot], wire.CauseKilled)
	}
	return nil
}

// Refuse tells that a request did not even fork.
func (s *Supervisor) Refuse(id uint64, step uint32, err error) error {
	return s.tell(&wire.Reply{Kind: wire.ReplyDone, ID: id, Faulted: true, BySpawner: true, Step: step, Errno: uint32(Errno(err))}, -1)
}

// KeepHeapFromForks keeps as much of the process's memory as it can out of the children, which costs a fork less. An
// error says that the stack, where a process's arguments and environment are, is not kept out.
func (s *Supervisor) KeepHeapFromForks() error { return keepHeapFromForks(s.forker) }

// Errno is the errno that an error wraps, or 0.
func Errno(err error) unix.Errno {
	var e unix.Errno
	if errors.As(err, &e) {
		return e
	}
	return 0
}
