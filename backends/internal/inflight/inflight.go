// Package inflight keeps the calls of a backend that are under way, so that closing the backend ends them and waits.
//
// # Limitations
//
// It ends a call's context and no more: what a call leaves behind is the backend's to remove.
package inflight

import (
	"context"
	"errors"
	"sync"

	"github.com/soulacy/toolcell/sandbox"
)

// Calls are the calls under way. The zero value has none and is open.
type Calls struct {
	mu      sync.Mutex
	closed  bool
	next    uint64
	cancel  map[uint64]context.CancelFunc
	running sync.WaitGroup
}

// Enter adds a call. Its context is the one returned, which ends with ctx, with leave and with Close; leave takes the call
// out again. After Close it is an error of kind [sandbox.KindUnavailable].
func (c *Calls) Enter(ctx context.Context) (own context.Context, leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, Closed()
	}
	own, cancel := context.WithCancel(ctx)
	if c.cancel == nil {
		c.cancel = make(map[uint64]context.CancelFunc)
	}
	c.next++
	id := c.next
	c.cancel[id] = cancel
	c.running.Add(1)
	return own, func() {
		c.mu.Lock()
		delete(c.cancel, id)
		c.mu.Unlock()
		cancel()
		c.running.Done()
	}, nil
}

// Close ends every call's context, keeps new ones out, and waits until all have left. It is true the first time.
func (c *Calls) Close() bool {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	for _, cancel := range c.cancel {
		cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
	return first
}

// Closed is the error of a call to a backend that was closed.
func Closed() error {
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "run", Cause: errors.New("the backend is closed")}
}
