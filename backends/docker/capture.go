package docker

import (
	"context"
	"io"
	"sync"
	"time"
)

// capture takes one output stream to its end, whatever its size: the first bytes up to limit are kept and handed to tap,
// the rest is counted and dropped, so memory stays flat. A slow tap holds up nothing else.
type capture struct {
	limit int
	tap   io.Writer
	done  chan struct{} // closed when the tap has everything, or wants no more

	mu      sync.Mutex
	changed *sync.Cond
	kept    []byte
	total   int64
	over    bool
}

func newCapture(limit int, tap io.Writer) *capture {
	c := &capture{limit: limit, tap: tap, done: make(chan struct{})}
	c.changed = sync.NewCond(&c.mu)
	if tap == nil {
		close(c.done)
		return c
	}
	go c.feed()
	return c
}

func (c *capture) take(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	c.kept = append(c.kept, p[:min(len(p), c.limit-len(c.kept))]...)
	c.changed.Signal()
}

// end says that nothing follows.
func (c *capture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Signal()
}

// feed hands the tap what is kept, as it comes.
func (c *capture) feed() {
	defer close(c.done)
	for sent := 0; ; {
		p := c.from(sent)
		if len(p) == 0 {
			return
		}
		if _, err := c.tap.Write(p); err != nil {
			return // its reader is gone; the program is not to notice
		}
		sent += len(p)
	}
}

// from waits for more than n bytes and returns what follows them; nothing at the end.
func (c *capture) from(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.kept) <= n && !c.over {
		c.changed.Wait()
	}
	return c.kept[n:]
}

// output returns what was kept and how much there was.
func (c *capture) output() (kept []byte, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept, c.total
}

// settleGrace is how long taps may go on when the call was killed.
const settleGrace = time.Second

// settle ends captures and waits for their taps: a slow one is waited for, as by os/exec, until ctx ends; with a call that
// was killed it has a moment.
func settle(ctx context.Context, killed bool, cs ...*capture) {
	for _, c := range cs {
		c.end()
	}
	var over <-chan time.Time
	if killed {
		over = time.After(settleGrace)
	}
	for _, c := range cs {
		select {
		case <-c.done:
		case <-over:
			return
		case <-ctx.Done():
			select { // it may have ended at the same moment
			case <-c.done:
			case <-time.After(settleGrace):
				return
			}
		}
	}
}
