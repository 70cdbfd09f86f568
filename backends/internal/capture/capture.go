// Package capture takes a program's output streams, whatever their size: the first bytes up to a limit are kept and
// handed on as they come, the rest is counted and dropped, so memory stays flat.
//
// # Limitations
//
// What is handed on is as the program wrote it: nothing is escaped.
package capture

import (
	"context"
	"io"
	"sync"
	"time"
)

// Stream is one output stream. Make one with [New].
type Stream struct {
	limit int
	tap   io.Writer
	done  chan struct{} // closed when the tap has everything, or wants no more

	mu      sync.Mutex
	changed *sync.Cond
	kept    []byte
	total   int64
	over    bool
}

// New returns a stream of which the first limit bytes are kept. They go to tap as they come, unless it is nil; a slow tap
// holds up nothing else.
func New(limit int, tap io.Writer) *Stream {
	s := &Stream{limit: limit, tap: tap, done: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	if tap == nil {
		close(s.done)
	} else {
		go s.pass()
	}
	return s
}

// Write takes p and never fails.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	s.kept = append(s.kept, p[:min(len(p), s.limit-len(s.kept))]...)
	s.changed.Signal()
	return len(p), nil
}

// Close says that nothing follows. It does not wait for the tap; see [Settle].
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.changed.Signal()
	return nil
}

// Output returns what was kept and how much there was.
func (s *Stream) Output() (kept []byte, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, s.total
}

// pass hands the tap what is kept, as it comes.
func (s *Stream) pass() {
	defer close(s.done)
	for sent := 0; ; {
		p := s.from(sent)
		if len(p) == 0 {
			return
		}
		if _, err := s.tap.Write(p); err != nil {
			return // its reader is gone; the program is not to notice
		}
		sent += len(p)
	}
}

// from waits for more than n bytes and returns what follows them; nothing at the end.
func (s *Stream) from(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.kept) <= n && !s.over {
		s.changed.Wait()
	}
	return s.kept[n:]
}

// Grace is how long a tap may go on taking output when nobody waits for it any more.
const Grace = time.Second

// Settle closes streams and waits for their taps: a slow one is waited for, as by os/exec, until ctx ends. When the call
// was killed, and from when ctx has ended, there is a moment left.
func Settle(ctx context.Context, killed bool, streams ...*Stream) {
	for _, s := range streams {
		_ = s.Close() // which cannot fail
	}
	ended, over := ctx.Done(), (<-chan time.Time)(nil)
	if killed {
		ended, over = nil, time.After(Grace)
	}
	for _, s := range streams {
		for waiting := true; waiting; {
			select {
			case <-s.done:
				waiting = false
			case <-ended:
				ended, over = nil, time.After(Grace)
			case <-over:
				return
			}
		}
	}
}
