package armory

import (
	"slices"
	"time"
)

// lookLater plans the next look at what stands ready. The lock is held.
func (a *Armory[S]) lookLater() {
	if a.looking || a.closed {
		return
	}
	a.looking = true
	time.AfterFunc(a.rules.Look, a.look)
}

// look gives up what nobody uses, and replaces what has ended or is too old.
func (a *Armory[S]) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looking = false
	if a.closed {
		return
	}
	for _, r := range slices.Clone(a.racks) {
		if time.Since(r.used) > a.rules.Idle && !r.filling && !r.building {
			a.giveUp(r)
			continue
		}
		if a.sort(r) {
			a.refill(r)
		}
		a.tidy(r)
	}
	if slices.ContainsFunc(a.racks, func(r *rack[S]) bool { return len(r.ready) > 0 }) {
		a.lookLater()
	}
}

// giveUp ends what is in a rack. The order stays for the next call, unless it is for once. The lock is held.
func (a *Armory[S]) giveUp(r *rack[S]) {
	a.end(r.ready)
	r.ready = nil
	if r.order.Once {
		a.drop(r)
	}
}

// sort ends what no longer stands ready in a rack, or has for too long, and reports whether there was any. The lock is held.
func (a *Armory[S]) sort(r *rack[S]) bool {
	var kept, gone []standing[S]
	for _, s := range r.ready {
		if s.sandbox.Alive() && time.Since(s.since) < a.rules.Life {
			kept = append(kept, s)
		} else {
			gone = append(gone, s)
		}
	}
	r.ready = kept
	a.end(gone)
	return len(gone) > 0
}
