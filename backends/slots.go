package backends

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/sandbox"
)

// slot names one backend that a runner has, or has tried to have: a sandbox's by its name, for Python tools with the image's
// own user where that is wanted, and the host's by its mode.
type slot struct {
	name      string
	imageUser bool
	mode      host.Mode
}

// label is what the slot is called in a report.
func (s slot) label() string {
	if s.imageUser {
		return s.name + " as the image's user"
	}
	return s.name
}

// slots are the backends of a runner, each opened when it is first needed. The choice of a slot is never reconsidered; one
// that could not be opened, because its engine was not up yet, is tried again by a later call.
type slots struct {
	open func(context.Context, slot) (sandbox.Backend, error)

	mu     sync.Mutex
	have   map[slot]*opened
	closed bool
}

// opened is what became of a slot.
type opened struct {
	mu      sync.Mutex
	backend sandbox.Backend
	err     error     // why there is no backend
	at      time.Time // when that was found out
	closed  bool
}

// tryAgain is how long an opening that failed is taken for the answer: asking an engine that is down takes seconds.
const tryAgain = 5 * time.Second

// errClosed is why a runner gives nothing any more.
var errClosed = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "call", Cause: errors.New("the runner is closed")}

// put keeps what became of a slot that was opened elsewhere, at the start.
func (t *slots) put(s slot, b sandbox.Backend, err error) {
	t.have = map[slot]*opened{s: {backend: b, err: err, at: time.Now()}}
}

// get returns the backend of s.
func (t *slots) get(ctx context.Context, s slot) (sandbox.Backend, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, errClosed
	}
	o := t.have[s]
	if o == nil {
		o = &opened{}
		if t.have == nil {
			t.have = map[slot]*opened{}
		}
		t.have[s] = o
	}
	t.mu.Unlock()
	return o.get(ctx, func() (sandbox.Backend, error) { return t.open(ctx, s) })
}

func (o *opened) get(ctx context.Context, open func() (sandbox.Backend, error)) (sandbox.Backend, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return nil, errClosed
	case o.backend != nil:
		return o.backend, nil
	case o.err != nil && time.Since(o.at) < tryAgain:
		return nil, o.err
	}
	o.backend, o.err = open()
	o.at = time.Now()
	err := o.err
	if ctx.Err() != nil { // an opening that its caller gave up says nothing about the backend
		o.err = nil
	}
	return o.backend, err
}

// close closes what is open and waits for what is being opened.
func (t *slots) close() error {
	t.mu.Lock()
	have := t.have
	t.have, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, o := range have {
		errs = append(errs, o.close())
	}
	return errors.Join(errs...)
}

func (o *opened) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.backend
	o.backend, o.closed = nil, true
	if b == nil {
		return nil
	}
	return b.Close()
}
