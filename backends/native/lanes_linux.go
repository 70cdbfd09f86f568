package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// lanes are the spawners of one backend. One is enough until requests wait for it; then there may be as many as CPUs.
type lanes struct {
	// direct, unless it is nil, is this process, which then needs no spawner.
	direct  *direct
	program *os.File
	id      identity
	place   func(pid int) error
	log     *slog.Logger

	mu     sync.Mutex
	list   []*lane
	closed bool
	// growing says that another is being started.
	growing bool
	growth  sync.WaitGroup
	// starting is closed when the start of the only lane has ended; nil when none is being started.
	starting chan struct{}
	next     atomic.Uint64
	// patience is how long a spawner may be late with an answer before it is given up. 0 means stuckGrace.
	patience time.Duration
}

func (s *lanes) grace() time.Duration { return cmp.Or(s.patience, stuckGrace) }

// slow is how long a request may wait for its spawner before another lane is worth its start.
const slow = time.Millisecond

// runner makes calls: a lane, or this process itself.
type runner interface {
	// start has a call's sandbox made and returns the channel of what is told about it. The call keeps its descriptors.
	start(k *call) (<-chan message, error)
	// kill asks for a call's end.
	kill(id uint64)
	// ask asks for a sign of life: a ReplyAlive among what is told about the call.
	ask(id uint64)
	// fail gives the runner up, and its calls with it.
	fail(cause error)
	// busy is the number of its calls.
	busy() int
	// noexecMemfds says that memfds are not executable in its calls.
	noexecMemfds() bool
}

// runner returns what the next call is to be made by.
func (s *lanes) runner(ctx context.Context) (runner, error) {
	if s.direct != nil {
		return s.direct, nil
	}
	return s.pick(ctx)
}

// outside are the ids that a sandbox at offset has outside, as who writes its maps sees them.
func (s *lanes) outside(offset uint32) (uid, gid uint32) {
	if s.direct != nil {
		return s.direct.outside(offset)
	}
	return offset, offset
}

// pick returns the lane with the least to do, starting the first one and replacing those that are gone. One caller starts
// it, with its own patience; the others wait for it without holding anything.
func (s *lanes) pick(ctx context.Context) (*lane, error) {
	for {
		l, starting, err := s.idlest()
		if l != nil || err != nil {
			return l, err
		}
		if starting == nil {
			return s.startFirst(ctx)
		}
		select {
		case <-starting:
		case <-ctx.Done():
			return nil, unavailable("wait for the spawner", ctx.Err(), "")
		}
	}
}

// idlest returns the lane with the least to do. Without one it returns a channel that is closed when somebody else's
// start has ended, or nil when the caller is to start it.
func (s *lanes) idlest() (best *lane, starting <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, inflight.Closed()
	}
	s.list = slices.DeleteFunc(s.list, func(l *lane) bool { return !l.alive() })
	for _, l := range s.list {
		if best == nil || l.busy() < best.busy() {
			best = l
		}
	}
	if best != nil || s.starting != nil {
		return best, s.starting, nil
	}
	s.starting = make(chan struct{})
	s.growth.Add(1)
	return nil, nil, nil
}

// startFirst starts the lane that idlest asked for.
func (s *lanes) startFirst(ctx context.Context) (*lane, error) {
	defer s.growth.Done()
	l, err := s.start(ctx)
	s.mu.Lock()
	close(s.starting)
	s.starting = nil
	late := s.closed
	if err == nil && !late {
		s.list = append(s.list, l)
	}
	s.mu.Unlock()
	if err == nil && late {
		l.stop()
		return nil, inflight.Closed()
	}
	return l, err
}

func (s *lanes) start(ctx context.Context) (*lane, error) {
	l, err := startLane(ctx, s.program, s.id)
	if err != nil {
		return nil, err
	}
	l.log = s.log
	if err := s.place(l.process.pid); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// waited notes how long a request lay before its spawner took it, and starts another lane when that was long, other
// calls were the reason, and there is room.
func (s *lanes) waited(d time.Duration, others int) {
	if d < slow || others == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.growing || len(s.list) >= runtime.NumCPU() {
		return
	}
	s.growing = true
	s.growth.Go(s.grow)
}

func (s *lanes) grow() {
	l, err := s.start(context.Background())
	s.mu.Lock()
	s.growing = false
	late := s.closed
	if err == nil && !late { // after an error, the lanes that are there go on
		s.list = append(s.list, l)
	}
	s.mu.Unlock()
	if err == nil && late {
		l.stop()
	}
}

// newID numbers requests. 0 is never used.
func (s *lanes) newID() uint64 { return s.next.Add(1) }

// close ends every lane.
func (s *lanes) close() {
	s.mu.Lock()
	s.closed = true
	list := s.list
	s.list = nil
	s.mu.Unlock()
	s.growth.Wait()
	for _, l := range list {
		l.stop()
		l.roots.close()
	}
	if s.program != nil {
		s.program.Close()
	}
	if s.direct != nil {
		s.direct.close()
	}
}

// userNS asks for a user namespace that maps the id inside to the one outside, both for users and groups. A lane that
// does not answer is given up.
func (s *lanes) userNS(ctx context.Context, waiting *os.File, m idMap) (*os.File, error) {
	id := s.newID()
	uid, gid := s.outside(m.outside)
	req := wire.Request{
		Kind: wire.RequestUserNS, ID: id, Namespaces: newUser,
		InsideUID: m.uid, InsideGID: m.gid, OutsideUID: uid, OutsideGID: gid,
	}
	if s.direct != nil {
		return s.direct.userNS(&req, waiting)
	}
	l, err := s.pick(ctx)
	if err != nil {
		return nil, err
	}
	ch, err := l.request(&req, []*os.File{waiting, waiting})
	if err != nil {
		return nil, err
	}
	msg, err := s.answer(ctx, l, id, ch)
	if err != nil {
		return nil, err
	}
	if msg.err != nil {
		return nil, msg.err
	}
	if msg.reply.Faulted || msg.file == nil {
		return nil, spawnerFault(msg.reply)
	}
	return msg.file, nil
}

// answer waits for the one answer to a request. A caller that does not want to wait any longer gets an error.
func (s *lanes) answer(ctx context.Context, l *lane, id uint64, ch <-chan message) (message, error) {
	stuck := time.NewTicker(s.grace())
	defer stuck.Stop()
	for late := false; ; {
		select {
		case m := <-ch:
			return m, nil
		case <-ctx.Done():
			l.forget(id, ch)
			return message{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: fmt.Errorf("the context ended before the start: %w", ctx.Err())}
		case <-stuck.C:
			if late {
				l.fail(errors.New("it did not answer in time"))
				return <-ch, nil
			}
			late = true // it may have been this process that was stopped, with the answer already there
		}
	}
}
