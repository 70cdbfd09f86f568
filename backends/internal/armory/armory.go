// Package armory keeps sandboxes that stand ready for calls, by what they have in common: each is given to one call, and
// another takes its place in the background.
//
// # Limitations
//
// It builds, counts and gives up. What a sandbox is, whether one fits a call, and that nothing is left of it when it has been
// closed, is the backend's to know.
package armory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/sandbox"
)

// Sandbox is what stands ready. It is closed unless a call has it.
type Sandbox interface {
	// Alive reports whether it still stands ready.
	Alive() bool
	// Close ends it, and returns when nothing of it is left.
	Close()
}

// Rules are what an armory keeps to.
type Rules struct {
	// Most bounds what stands ready or is being built.
	Most int
	// Idle is after how long without a call what stands ready is given up, Life how old it may become, and Look how often
	// that is looked after.
	Idle, Life, Look time.Duration
	// Pause lies between a call that has taken a sandbox and the building of the next: short calls have ended by then, and it
	// is theirs, the time that building takes away.
	Pause time.Duration
	// Patience bounds what is built at a time in the background. After a failure nothing is for as long as Retry says.
	Patience, Retry time.Duration
	// Failed is told what could not be built in the background.
	Failed func(error)
}

// Order is what is wanted for the calls of a key.
type Order[S Sandbox] struct {
	// Count is how many are to stand ready.
	Count int
	// Once says that none takes the place of one that was used, or given up.
	Once bool
	// Build builds one.
	Build func(context.Context) (S, error)
}

// Stats are counts since the armory was made.
type Stats struct {
	// Ready is how many sandboxes stand ready now.
	Ready int
	// Served is how many calls found one, Missed how many for whose key some were ordered found none that fits.
	Served, Missed int
}

// Armory keeps sandboxes. Make one with [New].
type Armory[S Sandbox] struct {
	// building ends when the armory is closed.
	building context.Context
	stop     context.CancelFunc

	mu     sync.Mutex
	rules  Rules
	closed bool
	stats  Stats
	racks  []*rack[S]
	// looking says that the next look at what stands ready is planned.
	looking bool
	work    sync.WaitGroup
}

// maxKeys bounds for how many keys something is ordered; the one used the longest time ago makes room.
const maxKeys = 64

// rack holds the sandboxes of one key, the oldest first.
type rack[S Sandbox] struct {
	key   string
	order Order[S]
	ready []standing[S]
	// left is how many are still to be built of an order that is for once.
	left int
	// filling says that more are about to be built in the background. Whoever builds has the turn, and building is true.
	filling, building bool
	turn              chan struct{}
	used              time.Time
	// pause is until when none is built in the background, after one that could not be.
	pause time.Time
}

// standing is a sandbox, and since when it has stood ready.
type standing[S Sandbox] struct {
	sandbox S
	since   time.Time
}

// New returns an armory that keeps to r.
func New[S Sandbox](r Rules) *Armory[S] {
	a := &Armory[S]{rules: r}
	a.building, a.stop = context.WithCancel(context.Background())
	return a
}

// Order notes what is wanted for a key, in the place of what was, and returns when it stands ready. After an error nothing is
// ordered for the key.
func (a *Armory[S]) Order(ctx context.Context, key string, o Order[S]) error {
	r, err := a.note(key, o)
	if err != nil {
		return err
	}
	kept, err := a.fill(ctx, r)
	if err == nil && !kept {
		err = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "arm", Cause: errors.New("what was ordered was given up meanwhile")}
	}
	if err != nil {
		_ = a.cancel(ctx, func(other *rack[S]) bool { return other == r }) // of the context, which is told or does not matter
	}
	return err
}

// note makes an order a rack's.
func (a *Armory[S]) note(key string, o Order[S]) (*rack[S], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, inflight.Closed()
	}
	r := a.find(key)
	if r == nil {
		a.makeRoom()
		r = &rack[S]{key: key, turn: make(chan struct{}, 1)}
		a.racks = append(a.racks, r)
	}
	r.order, r.used, r.pause = o, time.Now(), time.Time{}
	if over := len(r.ready) - o.Count; over > 0 {
		a.end(r.ready[:over])
		r.ready = r.ready[over:]
	}
	r.left = o.Count - len(r.ready)
	return r, nil
}

// find returns the rack of a key, or nil. The lock is held.
func (a *Armory[S]) find(key string) *rack[S] {
	i := slices.IndexFunc(a.racks, func(r *rack[S]) bool { return r.key == key })
	if i < 0 {
		return nil
	}
	return a.racks[i]
}

func (a *Armory[S]) makeRoom() {
	if len(a.racks) >= maxKeys {
		a.drop(slices.MinFunc(a.racks, func(x, y *rack[S]) int { return x.used.Compare(y.used) }))
	}
}

// drop forgets a rack and gives up what is in it. The lock is held.
func (a *Armory[S]) drop(r *rack[S]) {
	a.racks = slices.DeleteFunc(a.racks, func(other *rack[S]) bool { return other == r })
	a.end(r.ready)
	r.ready = nil
}

// end closes sandboxes. Nobody waits for it but the armory's own end. The lock is held.
func (a *Armory[S]) end(list []standing[S]) {
	for _, s := range list {
		a.work.Go(s.sandbox.Close)
	}
}

// Cancel gives up what was ordered for a key, and waits until what stood ready or was just being built is gone. Its error is
// that of the context.
func (a *Armory[S]) Cancel(ctx context.Context, key string) error {
	return a.cancel(ctx, func(r *rack[S]) bool { return r.key == key })
}

func (a *Armory[S]) cancel(ctx context.Context, is func(*rack[S]) bool) error {
	a.mu.Lock()
	var ended []standing[S]
	var dropped []*rack[S]
	for _, r := range slices.Clone(a.racks) {
		if is(r) {
			ended, r.ready = append(ended, r.ready...), nil
			a.drop(r)
			dropped = append(dropped, r)
		}
	}
	a.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range ended {
		ending.Go(s.sandbox.Close)
	}
	ending.Wait()
	for _, r := range dropped {
		if err := WaitTurn(ctx, r.turn); err != nil {
			return err
		}
		<-r.turn // nobody builds any more, and nobody will: the rack is gone
	}
	return nil
}

// Empty reports whether nothing is ordered, so that a call need not find out what it would take.
func (a *Armory[S]) Empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.racks) == 0
}

// Take returns the oldest sandbox of a key that fits, and has another built. Those before it that do not fit are given up.
// Without one the call is to be made as any other.
func (a *Armory[S]) Take(key string, fits func(S) bool) (S, bool) {
	for {
		s, found := a.pop(key)
		if !found {
			return s, false
		}
		good := s.Alive() && fits(s)
		a.mu.Lock()
		if good {
			a.stats.Served++
		} else {
			a.end([]standing[S]{{sandbox: s}})
		}
		a.mu.Unlock()
		if good {
			return s, true
		}
	}
}

func (a *Armory[S]) pop(key string) (s S, found bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.find(key)
	if r == nil || a.closed {
		return s, false
	}
	r.used = time.Now()
	defer a.tidy(r)
	defer a.refill(r)
	if len(r.ready) == 0 {
		a.stats.Missed++
		return s, false
	}
	s, r.ready = r.ready[0].sandbox, r.ready[1:]
	return s, true
}

// tidy drops a rack for once that has had everything. The lock is held.
func (a *Armory[S]) tidy(r *rack[S]) {
	if r.order.Once && r.left <= 0 && !r.building && len(r.ready) == 0 {
		a.drop(r)
	}
}

// refill has a rack filled in a moment. The lock is held.
func (a *Armory[S]) refill(r *rack[S]) {
	if r.order.Once || r.filling || a.closed || time.Now().Before(r.pause) {
		return
	}
	r.filling = true
	a.work.Add(1)
	time.AfterFunc(a.rules.Pause, func() {
		defer a.work.Done()
		for a.build(r) {
		}
	})
}

// build fills a rack, and reports whether calls have taken something meanwhile.
func (a *Armory[S]) build(r *rack[S]) bool {
	ctx, cancel := context.WithTimeout(a.building, a.rules.Patience)
	defer cancel()
	_, err := a.fill(ctx, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && !a.closed {
		r.pause = time.Now().Add(a.rules.Retry)
		a.rules.Failed(err)
	}
	r.filling = err == nil && a.lacking(r)
	return r.filling
}

// WaitTurn takes the turn of whoever builds, with a word about the context when that ends first.
func WaitTurn(ctx context.Context, turn chan<- struct{}) error {
	err := context.Cause(ctx)
	if err == nil {
		select {
		case turn <- struct{}{}:
			return nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "arm", Cause: fmt.Errorf("the context ended first: %w", err)}
}

// fill builds sandboxes one after the other until a rack has what it should. It is not kept when it was given up first.
func (a *Armory[S]) fill(ctx context.Context, r *rack[S]) (kept bool, err error) {
	if err := WaitTurn(ctx, r.turn); err != nil {
		return false, err
	}
	defer func() { <-r.turn }()
	for {
		build, kept, err := a.begin(r)
		if err != nil || build == nil {
			return kept, err
		}
		s, err := build(ctx)
		if !a.put(r, s, err) && err == nil {
			s.Close()
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// begin returns what builds the next sandbox of a rack; nil when it has what it should, or is not kept.
func (a *Armory[S]) begin(r *rack[S]) (build func(context.Context) (S, error), kept bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.keeps(r) || !a.lacking(r) {
		return nil, a.keeps(r) || r.order.Once && r.left <= 0, nil
	}
	all := 0
	for _, other := range a.racks {
		all += len(other.ready)
		if other.building {
			all++
		}
	}
	if all >= a.rules.Most {
		return nil, true, &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "arm", Cause: fmt.Errorf("%d sandboxes stand ready already", all), Fix: "arm fewer",
		}
	}
	r.building = true
	return r.order.Build, true, nil
}

// put adds what was built to a rack; false says that the rack was given up, or that there is nothing to add.
func (a *Armory[S]) put(r *rack[S], s S, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.building = false
	if err != nil || !a.keeps(r) {
		return false
	}
	r.left--
	r.ready = append(r.ready, standing[S]{s, time.Now()})
	a.lookLater()
	return true
}

// lacking reports whether a rack is to get another sandbox. The lock is held.
func (a *Armory[S]) lacking(r *rack[S]) bool {
	return a.keeps(r) && len(r.ready) < r.order.Count && (!r.order.Once || r.left > 0)
}

// keeps reports whether a rack is still there. The lock is held.
func (a *Armory[S]) keeps(r *rack[S]) bool { return !a.closed && slices.Contains(a.racks, r) }

// Stats returns the counts.
func (a *Armory[S]) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	for _, r := range a.racks {
		s.Ready += len(r.ready)
	}
	return s
}

// Close ends everything that stands ready or is being built, and waits for that.
func (a *Armory[S]) Close() {
	a.stop()
	a.mu.Lock()
	a.closed = true
	for _, r := range slices.Clone(a.racks) {
		a.drop(r)
	}
	a.mu.Unlock()
	a.work.Wait()
}
