package native

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	shared "github.com/soulacy/toolcell/backends/internal/armory"
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

func newArmory(b *Backend) *armory {
	a := &armory{backend: b, idle: armedIdle, life: armedLife, look: inspectPause}
	a.building, a.stop = context.WithCancel(context.Background())
	return a
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

// cancel gives up what was ordered, and waits until what stood ready or was just being built is gone. Its error is that of
// the context.
func (a *armory) cancel(ctx context.Context, is func(order) bool) error {
	a.mu.Lock()
	a.orders = slices.DeleteFunc(a.orders, is)
	var ended []*call
	var dropped []*rack
	for _, r := range slices.Clone(a.racks) {
		if is(order{kind: r.kind}) {
			ended, r.ready = append(ended, r.ready...), nil
			a.drop(r)
			dropped = append(dropped, r)
		}
	}
	a.mu.Unlock()
	var ending sync.WaitGroup
	for _, k := range ended {
		ending.Go(k.close)
	}
	ending.Wait()
	for _, r := range dropped {
		if err := shared.WaitTurn(ctx, r.turn); err != nil {
			return err
		}
		<-r.turn // nobody builds any more, and nobody will: the rack is gone
	}
	return nil
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
	if !ok || !d.settled() {
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
		for a.build(r) {
		}
	})
}

// build fills a rack, and reports whether calls have taken something meanwhile.
func (a *armory) build(r *rack) bool {
	ctx, cancel := context.WithTimeout(a.building, armTimeout)
	defer cancel()
	err := a.fill(ctx, r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && !a.closed {
		r.pause = time.Now().Add(armPause)
		a.backend.log.Warn("a sandbox could not be built ahead", "error", err)
	}
	r.filling = err == nil && a.keeps(r) && len(r.ready) < r.want
	return r.filling
}

// fill builds sandboxes one after the other until a rack has what it should. Its calls are made without when one cannot
// be built, and say why; the next call has it tried again.
func (a *armory) fill(ctx context.Context, r *rack) error {
	if err := shared.WaitTurn(ctx, r.turn); err != nil {
		return err
	}
	defer func() { <-r.turn }()
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
		if len(gone) == 0 {
			continue
		}
		a.discard(gone)
		a.refill(r)
		if r.once && len(kept) == 0 {
			a.drop(r)
		}
	}
	if len(a.racks) > 0 {
		a.inspectLater()
		a.work.Go(a.backend.places.renew)
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
