package host

import (
	"context"
	"io"
	"sync"
	"time"
)

// capture takes one output stream, whatever its size: the first bytes up to limit are kept and handed to tap, the rest is
// counted and dropped. A slow tap does not hold up the program.
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
	} else {
		go c.pass()
	}
	return c
}

// Write takes p and never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(p))
	c.kept = append(c.kept, p[:min(len(p), c.limit-len(c.kept))]...)
	c.changed.Signal()
	return len(p), nil
}

// Close says that nothing follows.
func (c *capture) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Signal()
	return nil
}

// pass hands the tap what is kept, as it comes.
func (c *capture) pass() {
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

// settleGrace is how long an output may still come when every process that was found is dead, and a tap take it when the
// call was killed.
const settleGrace = time.Second

// settle waits for the taps: until ctx ends, as os/exec would, or for a moment when the call was killed.
func settle(ctx context.Context, killed bool, cs ...*capture) {
	if killed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), settleGrace)
		defer cancel()
	}
	for _, c := range cs {
		_ = c.Close()
	}
	for _, c := range cs {
		select {
		case <-c.done:
		case <-ctx.Done():
			return
		}
	}
}
