package native

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

const (
	// armedIdle is after how long without a call what stands ready is given up, armedLife how old it may become.
	armedIdle = time.Minute
	armedLife = 5 * time.Minute
	// refillPause is how long after a call took one the next is built. Short calls have ended by then, and it is theirs, the
	// time that building takes away.
	refillPause = 20 * time.Millisecond
	// inspectPause is how often what stands ready is looked at.
	inspectPause = 5 * time.Second
	// maxArmed bounds what stands ready in one backend, maxRacks of how many kinds.
	maxArmed = 256
	maxRacks = 16
	// armTimeout bounds what is built at a time in the background, and armPause is the pause after a failure.
	armTimeout = 20 * time.Second
	armPause   = 5 * time.Second
)

// armory keeps sandboxes that stand ready. Each is used once. A nil armory has none.
type armory struct {
	backend *Backend
	// building ends when the armory is closed.
	building context.Context
	stop     context.CancelFunc

	idle, life, look time.Duration // armedIdle, armedLife, inspectPause

	mu     sync.Mutex
	closed bool
	stats  ArmedStats
	orders []order
	racks  []*rack
	// inspecting says that the next look at what stands ready is planned.
	inspecting bool
	work       sync.WaitGroup
}

// order is how many sandboxes for calls under a profile are wanted. Without an interpreter it is for calls of every kind
// under the profile.
type order struct {
	kind  kind
	count int
	// once says that those which were used, or given up, are not replaced.
	once bool
}

func (o order) same(other order) bool {
	return o.kind.start.Same(other.kind.start) && sameProfile(o.kind.profile, other.kind.profile)
}

// serves reports whether what is ordered can make a call of a kind.
func (o order) serves(d kind, c *call) bool {
	s := o.kind.start
	if s != nil && (o.kind.dir != d.dir || o.kind.input != d.input || !s.Serves(c.command.Argv, callEnv(c.profile, c.command))) {
		return false
	}
	return sameProfile(o.kind.profile, d.profile)
}

// rack holds the sandboxes of one kind, the oldest first.
type rack struct {
	kind  kind
	want  int
	once  bool
	ready []*call
	// filling says that more are about to be built. Whoever builds has the turn.
	filling bool
	turn    chan struct{}
	used    time.Time
	// pause is until when none is built, after one that could not be.
	pause time.Time
}

var _ sandbox.Armer = (*Backend)(nil)

func newArmory(b *Backend) *armory {
	a := &armory{backend: b, idle: armedIdle, life: armedLife, look: inspectPause}
	a.building, a.stop = context.WithCancel(context.Background())
	return a
}

// Arm has n sandboxes for calls under p stand ready; see [sandbox.Armer]. Each takes what a sandboxed program takes that
// sleeps: a process, a cgroup, a set of namespaces and, below a root caller, a host id. A process that makes its calls
// itself ([Config.Direct]) has none.
func (b *Backend) Arm(ctx context.Context, p sandbox.ContainerProfile, a sandbox.Arming) error {
	ctx, _, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if a.Count > maxArmed {
		return sandbox.Invalid("arm", "%d sandboxes, more than %d", a.Count, maxArmed)
	}
	if b.lanes.direct != nil {
		return &sandbox.Error{Kind: sandbox.KindRefused, Op: "arm", Cause: errors.New("this process makes one call and ends"), Fix: "open the backend without Direct"}
	}
	p = p.WithDefaults()
	d := kindOf(p, a.Like)
	if a.Count <= 0 {
		b.armory.cancel(func(o order) bool { return sameProfile(o.kind.profile, d.profile) })
		return nil
	}
	if d.start, err = b.startAhead(ctx, p, a); err != nil {
		return err
	}
	o := order{kind: d, count: a.Count, once: a.Once}
	r, err := b.armory.order(o)
	if err != nil {
		return err
	}
	if err := b.armory.fill(ctx, r); err != nil {
		b.armory.cancel(o.same)
		return err
	}
	return nil
}

// ArmedStats count what [Backend.Arm] is worth.
type ArmedStats struct {
	// Ready is how many sandboxes stand ready now.
	Ready int
	// Served is how many calls found one, Missed how many for which some were ordered found none.
	Served, Missed int
}

// ArmedStats returns the counts since the backend was opened.
func (b *Backend) ArmedStats() ArmedStats {
	a := b.armory
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	for _, r := range a.racks {
		s.Ready += len(r.ready)
	}
	return s
}

// order notes how many sandboxes are wanted, and returns their rack.
func (a *armory) order(o order) (*rack, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, inflight.Closed()
	}
	a.orders = append(slices.DeleteFunc(a.orders, o.same), o)
	for _, r := range a.racks {
		if o.same(order{kind: r.kind}) {
			r.want, r.once = o.count, o.once
		}
	}
	return a.rack(o.kind, o), nil
}

// ordered is the order for a call of a kind: of one with an interpreter before one without. The lock is held.
func (a *armory) ordered(d kind, c *call) (order, bool) {
	var found order
	for _, o := range a.orders {
		if (found.count == 0 || o.kind.start != nil) && o.serves(d, c) {
			found = o
		}
	}
	return found, found.count > 0
}

// rack returns the rack of a kind, a new one if need be, and notes that it is used. The lock is held.
func (a *armory) rack(d kind, o order) *rack {
	i := slices.IndexFunc(a.racks, func(r *rack) bool { return r.kind.is(d) })
	if i < 0 {
		a.makeRoom()
		a.racks = append(a.racks, &rack{kind: d, want: o.count, once: o.once, turn: make(chan struct{}, 1)})
		i = len(a.racks) - 1
	}
	a.racks[i].used = time.Now()
	a.inspectLater()
	return a.racks[i]
}

// makeRoom gives up the rack that was used the longest time ago, when there are too many. Those that are for single calls
// are as many as what stands ready may be. The lock is held.
func (a *armory) makeRoom() {
	var kept []*rack
	for _, r := range a.racks {
		if !r.once {
			kept = append(kept, r)
		}
	}
	if len(kept) >= maxRacks {
		a.drop(slices.MinFunc(kept, func(x, y *rack) int { return x.used.Compare(y.used) }))
	}
}

// drop gives a rack up with what is in it. The lock is held.
func (a *armory) drop(r *rack) {
	a.racks = slices.DeleteFunc(a.racks, func(other *rack) bool { return other == r })
	if r.once {
		a.orders = slices.DeleteFunc(a.orders, func(o order) bool { return o.kind.is(r.kind) })
	}
	a.discard(r.ready)
	r.ready = nil
}

// discard ends sandboxes. Nobody waits for it but the armory's own end.
func (a *armory) discard(list []*call) {
	for _, k := range list {
		a.work.Go(k.close)
	}
}

// cancel gives up what was ordered, and waits until it is gone.
func (a *armory) cancel(is func(order) bool) {
	a.mu.Lock()
	a.orders = slices.DeleteFunc(a.orders, is)
	var ended []*call
	for _, r := range slices.Clone(a.racks) {
		if is(order{kind: r.kind}) {
			ended, r.ready = append(ended, r.ready...), nil
			a.drop(r)
		}
	}
	a.mu.Unlock()
	var ending sync.WaitGroup
	for _, k := range ended {
		ending.Go(k.close)
	}
	ending.Wait()
}

// take returns a sandbox that stands ready for a call, made into it, or nil. The call is then to be built as any other.
func (a *armory) take(c *call) *call {
	for {
		k := a.pop(c)
		if k == nil {
			return nil
		}
		fits := k.fits(c)
		a.mu.Lock()
		if fits {
			a.stats.Served++
		} else {
			a.discard([]*call{k})
		}
		a.mu.Unlock()
		if fits {
			k.adopt(c)
			return k
		}
	}
}

// pop takes the oldest sandbox of the call's kind out of its rack, and has another built.
func (a *armory) pop(c *call) *call {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || len(a.orders) == 0 {
		return nil
	}
	d := kindOf(c.profile, c.command)
	o, ok := a.ordered(d, c)
	if !ok {
		return nil
	}
	d.start = o.kind.start
	r := a.rack(d, o)
	a.refill(r)
	if len(r.ready) == 0 {
		a.stats.Missed++
		return nil
	}
	k := r.ready[0]
	r.ready = r.ready[1:]
	if r.once && len(r.ready) == 0 {
		a.drop(r)
	}
	return k
}

// refill has a rack filled in a moment. The lock is held.
func (a *armory) refill(r *rack) {
	if r.once || r.filling || a.closed || time.Now().Before(r.pause) {
		return
	}
	r.filling = true
	a.work.Add(1)
	time.AfterFunc(refillPause, func() {
		defer a.work.Done()
		ctx, cancel := context.WithTimeout(a.building, armTimeout)
		defer cancel()
		err := a.fill(ctx, r)
		a.mu.Lock()
		defer a.mu.Unlock()
		r.filling = false
		if err != nil && !a.closed {
			r.pause = time.Now().Add(armPause)
			a.backend.log.Warn("a sandbox could not be built ahead", "error", err)
		}
	})
}

// fill builds sandboxes one after the other until a rack has what it should. Its calls are made without when one cannot
// be built, and say why; the next call has it tried again.
func (a *armory) fill(ctx context.Context, r *rack) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "arm", Cause: fmt.Errorf("the context ended first: %w", context.Cause(ctx))}
	}
	for {
		lacks, err := a.lacks(r)
		if err != nil || !lacks {
			return err
		}
		k, err := a.backend.arm(ctx, r.kind)
		if err != nil {
			return err
		}
		if !a.put(r, k) {
			k.close()
			return nil
		}
	}
}

// lacks reports whether a rack is to get another sandbox. It is an error when there is no room for it.
func (a *armory) lacks(r *rack) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := 0
	for _, other := range a.racks {
		all += len(other.ready)
	}
	if !a.keeps(r) || len(r.ready) >= r.want {
		return false, nil
	}
	if all >= maxArmed {
		return false, &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "arm", Cause: fmt.Errorf("%d sandboxes stand ready already", all), Fix: "arm fewer",
		}
	}
	return true, nil
}

// put adds a sandbox to a rack, unless that was given up. The lock is not held.
func (a *armory) put(r *rack, k *call) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.keeps(r) {
		return false
	}
	r.ready = append(r.ready, k)
	return true
}

// keeps reports whether a rack is still there. The lock is held.
func (a *armory) keeps(r *rack) bool { return !a.closed && slices.Contains(a.racks, r) }

// inspectLater plans the next look at what stands ready. The lock is held.
func (a *armory) inspectLater() {
	if a.inspecting || a.closed {
		return
	}
	a.inspecting = true
	time.AfterFunc(a.look, a.inspect)
}

// inspect gives up racks that nobody uses, and replaces what has ended or is too old.
func (a *armory) inspect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inspecting = false
	if a.closed {
		return
	}
	for _, r := range slices.Clone(a.racks) {
		if time.Since(r.used) > a.idle {
			a.drop(r)
			continue
		}
		var kept, gone []*call
		for _, k := range r.ready {
			if k.alive() && time.Since(k.armed.since) < a.life {
				kept = append(kept, k)
			} else {
				gone = append(gone, k)
			}
		}
		r.ready = kept
		if len(gone) > 0 {
			a.discard(gone)
			a.refill(r)
		}
		if r.once && len(kept) == 0 {
			a.drop(r)
		}
	}
	if len(a.racks) > 0 {
		a.inspectLater()
	}
}

// close ends everything that stands ready or is being built, and waits for that.
func (a *armory) close() {
	a.stop()
	a.mu.Lock()
	a.closed = true
	for _, r := range slices.Clone(a.racks) {
		a.drop(r)
	}
	a.mu.Unlock()
	a.work.Wait()
}
