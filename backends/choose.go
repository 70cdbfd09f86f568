package backends

import (
	"cmp"
	"context"
	"errors"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

// OpenChosen opens the backend that the configuration chooses, for a program that makes calls with profiles of its own, as
// `toolcell run` does: the one that it names, or for auto the first that would run a call with p. A named one is not asked.
func OpenChosen(ctx context.Context, c *config.Config, o Options, p sandbox.ContainerProfile) (sandbox.Backend, error) {
	bc := o.backendConfig(c, true)
	if name := c.Backend(); name != config.Auto {
		return o.open(ctx, name, bc)
	}
	b, s := tryAll(c, func(name string) (sandbox.Backend, error) { return o.openReady(ctx, name, bc, p) })
	return b, s.Err()
}

// choose makes the choice of a start: every candidate is opened and asked, until auto has one. The backend is nil where the
// chosen one could not be opened.
func choose(ctx context.Context, c *config.Config, o Options) (sandbox.Backend, policy.Selection) {
	bc := o.backendConfig(c, false)
	if c.Backend() == config.Auto {
		return tryAll(c, func(name string) (sandbox.Backend, error) {
			return o.openReady(ctx, name, bc, baseProfile(c, name))
		})
	}
	name := c.Backend()
	b, err := o.open(ctx, name, bc)
	if o.Once && err == nil {
		return b, policy.Select(c, nil)
	}
	if err == nil {
		err = o.ready(ctx, b, baseProfile(c, name))
	}
	return b, policy.Select(c, []policy.Probe{{Backend: name, Err: err}})
}

// tryAll opens the candidates in turn until one can be had.
func tryAll(c *config.Config, open func(name string) (sandbox.Backend, error)) (sandbox.Backend, policy.Selection) {
	var probes []policy.Probe
	for _, name := range policy.Candidates(c) {
		b, err := open(name)
		probes = append(probes, policy.Probe{Backend: name, Err: err})
		if err == nil {
			return b, policy.Select(c, probes)
		}
	}
	return nil, policy.Select(c, probes)
}

// openReady opens a backend and closes it again when it would refuse a call with p.
func (o Options) openReady(ctx context.Context, name string, bc Config, p sandbox.ContainerProfile) (sandbox.Backend, error) {
	b, err := o.open(ctx, name, bc)
	if err != nil {
		return nil, err
	}
	if err = o.ready(ctx, b, p); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// ready asks a backend whether it would run a call with p, after it has been prepared for that where this is wanted.
func (o Options) ready(ctx context.Context, b sandbox.Backend, p sandbox.ContainerProfile) error {
	var prepared error
	if o.Prepare {
		prepared = b.Prepare(ctx, p)
	}
	if _, err := b.Ready(ctx, p); err != nil {
		return cmp.Or(prepared, err) // why it could not be prepared says more
	}
	return nil
}

// baseProfile is what every call has in common, with the image of builtins.
func baseProfile(c *config.Config, backend string) sandbox.ContainerProfile {
	p := c.BuiltinProfile(backend)
	p.Binds, p.Workdir = nil, ""
	return p.WithDefaults()
}
