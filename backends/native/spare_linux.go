package native

import (
	"github.com/soulacy/toolcell/backends/native/internal/supervise"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// What a lane knows of its spawner's spare namespaces ([Config.NamespacesAhead]).
const (
	spareNone = iota
	spareAsked
	spareReady
	// spareTaken says that a call is about to use them. Until its request is sent none may be asked for: the spawner would
	// answer for those that it still has.
	spareTaken
	// spareFailed says that they cannot be had, so they are not asked for again. Calls make their own.
	spareFailed
)

// takeSpare has the call made in the namespaces that its spawner made ahead, if there are some. A sandbox that is built
// ahead itself leaves them to a call.
func (k *call) takeSpare() {
	l := k.lane()
	if l == nil || k.armed != nil || !l.spare.CompareAndSwap(spareReady, spareTaken) {
		return
	}
	k.spare = true
	k.request.Flags |= wire.FlagSpare
	k.request.Namespaces &^= supervise.SpareNamespaces
	k.spec.Spare = true
}

// giveSpare says what became of the namespaces that the call took: they are used, or the spawner still has them.
func (k *call) giveSpare(used bool) {
	l := k.lane()
	if l == nil || !k.spare {
		return
	}
	k.spare = false
	state := int32(spareReady)
	if used {
		state = spareNone
		k.b.sparesUsed.Add(1)
	}
	l.spare.Store(state)
}

// makeSpare has namespaces made for the next call.
func (k *call) makeSpare() {
	l := k.lane()
	if l == nil || !k.b.config.NamespacesAhead || !l.spare.CompareAndSwap(spareNone, spareAsked) {
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
