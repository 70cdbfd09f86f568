// Package armed wraps a backend so that every call finds a sandbox standing ready, for the suites that have to pass on
// those as on any other.
//
// It proves nothing by itself: [Backend.Served] says for how many calls it was so.
package armed

import (
	"context"
	"sync/atomic"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// Backend has a sandbox built for each call before the call is made. What cannot be built so is left to the call, whose
// error it is.
type Backend struct {
	*native.Backend
	// calls counts those for which a sandbox stood ready.
	calls atomic.Int64
}

// Run makes the call.
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	if err := b.Arm(ctx, p, sandbox.Arming{Like: c, Count: 1}); err == nil {
		b.calls.Add(1)
		defer func() { _ = b.Arm(context.WithoutCancel(ctx), p, sandbox.Arming{}) }()
	}
	return b.Backend.Run(ctx, p, c)
}

// Served returns for how many calls a sandbox stood ready, and how many found one. Calls that are made at the same time
// may take each other's.
func (b *Backend) Served() (ready, found int) {
	return int(b.calls.Load()), b.ArmedStats().Served
}
