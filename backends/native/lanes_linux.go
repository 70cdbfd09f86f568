package native

import (
	"context"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// lanes are the spawners of one backend. One is enough until requests wait for it; then there may be as many as CPUs.
type lanes struct {
	program *os.File
	id      identity
	place   func(pid int) error

	mu     sync.Mutex
	list   []*lane
	closed bool
	// growing says that another is being started.
	growing bool
	next    uint64
}

// slow is how long a request may wait for its spawner before another lane is worth its start.
const slow = time.Millisecond

// pick returns the lane with the least to do, starting the first one and replacing those that are gone.
func (s *lanes) pick(ctx context.Context) (*lane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	var best *lane
	live := s.list[:0]
	for _, l := range s.list {
		if !l.alive() {
			continue
		}
		live = append(live, l)
		if best == nil || l.busy() < best.busy() {
			best = l
		}
	}
	s.list = live
	if best != nil {
		return best, nil
	}
	l, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	s.list = append(s.list, l)
	return l, nil
}

func (s *lanes) start(ctx context.Context) (*lane, error) {
	l, err := startLane(ctx, s.program, s.id)
	if err != nil {
		return nil, err
	}
	if err := s.place(l.pid); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// waited notes how long a request lay before its spawner took it, and starts another lane when that was long and there
// is room.
func (s *lanes) waited(d time.Duration) {
	if d < slow {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.growing || len(s.list) >= runtime.NumCPU() {
		return
	}
	s.growing = true
	go s.grow()
}

func (s *lanes) grow() {
	l, err := s.start(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.growing = false
	switch {
	case err != nil: // the lanes that are there go on
	case s.closed:
		go l.stop()
	default:
		s.list = append(s.list, l)
	}
}

// newID numbers requests. 0 is never used.
func (s *lanes) newID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}

// close ends every lane.
func (s *lanes) close() {
	s.mu.Lock()
	s.closed = true
	list := s.list
	s.list = nil
	s.mu.Unlock()
	for _, l := range list {
		l.stop()
	}
	s.program.Close()
}

// userNS asks a lane for a user namespace that maps the id inside to the one outside, both for users and groups.
func (l *lane) userNS(id uint64, waiting *os.File, m idMap) (*os.File, error) {
	req := wire.Request{
		Kind: wire.RequestUserNS, ID: id, Namespaces: newUser,
		InsideUID: m.uid, InsideGID: m.gid, OutsideUID: m.outside, OutsideGID: m.outside,
	}
	ch, err := l.request(&req, []*os.File{waiting, waiting})
	if err != nil {
		return nil, err
	}
	msg := <-ch
	if msg.err != nil {
		return nil, msg.err
	}
	if msg.reply.Faulted || msg.file == nil {
		return nil, spawnerFault(msg.reply)
	}
	return msg.file, nil
}
