package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/soulacy/toolcell/sandbox"
)

// Ready computes the report and then rehearses a call: everything is done that a call does, up to a program that does
// not exist. What would stop a call stops the rehearsal, whatever the reason. What would stop a call with a declared mount,
// when p has none, is said in the report, with its fix: no guarantee is absent for that.
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
	_, err = b.call(ctx, p, sandbox.Command{Argv: []string{rehearsal}}, nil)
	if errors.Is(err, sandbox.ErrNotFound) {
		err = nil
	}
	if (err == nil || errors.Is(err, sandbox.ErrRefused)) && len(p.Mounts)+len(p.Binds) == 0 {
		noteMount(r, b.rehearseMount(ctx))
	}
	return r, err
}

// rehearseMount does what only a call of root's with a mount does: it clones a directory, the backend's own, and maps its
// owner. Everybody else's sandboxes mount by themselves, with or without declared mounts.
func (b *Backend) rehearseMount(ctx context.Context) error {
	if b.ids == nil {
		return nil
	}
	dir, err := filepath.EvalSymlinks(cmp.Or(b.config.StateDir, defaultStateDir))
	if err != nil {
		return err
	}
	s, err := openPlace(sandbox.Mount{Source: dir})
	if err != nil {
		return err
	}
	defer s.close()
	if err := checkSubmounts(s); err != nil {
		return err
	}
	offset, err := b.ids.take()
	if err != nil {
		return err
	}
	defer b.ids.give(offset)
	m := idMap{uid: s.stat.Uid, gid: s.stat.Gid, outside: offset}
	return s.clone(func(use func(*os.File) error) error { return b.userNS.with(ctx, b.lanes, m, use) })
}

// noteMount says in a report that calls with a mount are refused, if they are.
func noteMount(r sandbox.Report, err error) {
	i := slices.IndexFunc(r, func(e sandbox.Enforcement) bool { return e.Guarantee == sandbox.PrivNonroot })
	if err == nil || i < 0 {
		return
	}
	var own *sandbox.Error
	if errors.As(err, &own) {
		r[i].Fix = own.Fix
		err = own.Cause
	}
	r[i].Reason = fmt.Sprintf("a call with a mount is refused: %v", err)
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
	k, err := b.prepare(ctx, &call{b: b, id: id, profile: p.WithDefaults(), command: c}, nil)
	if err != nil {
		return "", err
	}
	defer k.close()
	return k.plan.String() + k.program.String(), nil
}
