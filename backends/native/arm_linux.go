package native

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/sandbox"
)

var _ sandbox.Armer = (*Backend)(nil)

// Arm has sandboxes for calls under p stand ready; see [sandbox.Armer]. Each takes what a sandboxed program takes that
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
		return b.armory.cancel(ctx, func(o order) bool { return sameProfile(o.kind.profile, d.profile) })
	}
	if !d.settled() {
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "arm", Cause: fmt.Errorf("the working directory %s lies in a mount, where it can be replaced", d.dir),
			Fix: "name the mount's target, or a directory that is no mount's",
		}
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
		_ = b.armory.cancel(ctx, o.same) // of the context, which is told or does not matter
		return err
	}
	return nil
}

// ArmedStats count what was made before its call, and how often that helped.
type ArmedStats struct {
	// Ready is how many sandboxes stand ready now.
	Ready int
	// Served is how many calls found one, Missed how many for which some were ordered found none.
	Served, Missed int
	// InNamespaces is how many calls were sent to namespaces that stood ready ([Config.NamespacesAhead]).
	InNamespaces int
}

// ArmedStats returns the counts since the backend was opened.
func (b *Backend) ArmedStats() ArmedStats {
	a := b.armory
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats
	s.InNamespaces = int(b.sparesUsed.Load())
	for _, r := range a.racks {
		s.Ready += len(r.ready)
	}
	return s
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
