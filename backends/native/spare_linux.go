package native

import (
	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// What a lane knows of its spawner's spare namespaces ([Config.NamespacesAhead]).
const (
	spareNone = iota
	spareAsked
	spareReady
	// spareFailed says that they cannot be had, so they are not asked for again. Calls make their own.
	spareFailed
)

// takeSpare has the call made in the namespaces that its spawner made ahead, if there are some. A sandbox that is built
// ahead itself leaves them to a call.
func (k *call) takeSpare() {
	l, ok := k.runner.(*lane)
	if !ok || k.armed != nil || !l.spare.CompareAndSwap(spareReady, spareNone) {
		return
	}
	k.request.Flags |= wire.FlagSpare
	k.request.Namespaces &^= confine.SpareNamespaces
	k.spec.Spare = true
}

// makeSpare has namespaces made for the next call. A spawner that has some, since the call they were for did not
// come to it, keeps them.
func (k *call) makeSpare() {
	l, ok := k.runner.(*lane)
	if !ok || !k.b.config.NamespacesAhead || !l.spare.CompareAndSwap(spareNone, spareAsked) {
		return
	}
	if err := l.write(&wire.Request{Kind: wire.RequestSpare, ID: k.b.lanes.newID()}, nil); err != nil {
		l.spare.Store(spareFailed) // the lane is gone
	}
}

// spareMade takes the answer.
func (l *lane) spareMade(r wire.Reply) {
	if r.Faulted {
		l.spare.Store(spareFailed)
		if l.log != nil {
			l.log.Warn("namespaces could not be made ahead: calls make their own", "error", spawnerFault(r))
		}
		return
	}
	l.spare.Store(spareReady)
}
