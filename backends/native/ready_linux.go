package native

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/sandbox"
)

// Ready computes the report and then rehearses a call: everything is done that a call does, up to a program that does
// not exist. What would stop a call stops the rehearsal, whatever the reason.
func (b *Backend) Ready(ctx context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := b.awaitSpawner(); err != nil {
		return nil, err
	}
	r, _, err := b.report(p)
	if err != nil {
		return nil, err
	}
	_, err = b.Run(ctx, p, sandbox.Command{Argv: []string{rehearsal}})
	if errors.Is(err, sandbox.ErrNotFound) {
		err = nil
	}
	return r, err
}

// rehearsal is a program that no image has.
const rehearsal = "/proc/self/fd/rehearsal"

// Explain returns the plan of a call as text, without running it.
func (b *Backend) Explain(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (string, error) {
	ctx, id, leave, err := b.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	k, err := b.prepare(ctx, id, p.WithDefaults(), c)
	if err != nil {
		return "", err
	}
	defer k.close()
	return k.plan.String() + k.program.String(), nil
}
