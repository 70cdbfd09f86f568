package host

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/sandbox"
)

// Name is the backend's name in results. No registry knows it.
const Name = "host"

// Mode says what of a call is limited. The zero value is refused, so that nothing runs on the host by omission.
type Mode string

const (
	// Limits sets rlimits: a guard against exhaustion, no boundary. Not on Windows.
	Limits Mode = "limits"
	// Unsandboxed sets nothing.
	Unsandboxed Mode = "unsandboxed"
)

// Config says how programs run on the host.
type Config struct {
	// Mode has to be given.
	Mode Mode
	// Program is the absolute path of a program that calls [Main] first thing in main: it becomes the supervisor. "" means
	// this program, which then has to do so. Windows needs none.
	Program string
	// Logger receives what operators should know. nil means silence.
	Logger *slog.Logger
}

// Backend runs programs on the host. Make one with [Open].
type Backend struct {
	mode    Mode
	program string
	calls   inflight.Calls
}

var _ sandbox.Backend = (*Backend)(nil)

// Open returns the backend and says in the log that it is no sandbox. The error is of kind [sandbox.KindInvalid] for an
// unknown mode or a relative Program, and of kind [sandbox.KindUnavailable] where the mode cannot work.
func Open(c Config) (*Backend, error) {
	b := &Backend{mode: c.Mode}
	if c.Mode != Limits && c.Mode != Unsandboxed {
		return nil, sandbox.Invalid("open host", "%q is no mode; it has to be %q or %q", string(c.Mode), Limits, Unsandboxed)
	}
	var err error
	if b.program, err = supervisorProgram(c); err != nil {
		return nil, err
	}
	if c.Logger != nil {
		level, text := slog.LevelWarn, "programs run on this host under resource limits, which guard against exhaustion and are no boundary"
		if c.Mode == Unsandboxed {
			level, text = slog.LevelError, "UNSAFE: programs run on this host with all that this user may do"
		}
		c.Logger.Log(context.Background(), level, text, "backend", Name, "mode", string(c.Mode))
	}
	return b, nil
}

// Name returns "host".
func (b *Backend) Name() string { return Name }

// Ready reports every guarantee as absent, with what there is instead. The error is nil exactly when a call with p would
// run: the limits of p have then been set, on a process that ran nothing.
func (b *Backend) Ready(ctx context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	p = p.WithDefaults()
	report := b.report(p)
	if err := checkProfile(p, report); err != nil {
		return report, err
	}
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return report, err
	}
	defer leave()
	return report, b.try(ctx, p)
}

// Prepare has nothing to do but to check p.
func (b *Backend) Prepare(_ context.Context, p sandbox.ContainerProfile) error {
	p = p.WithDefaults()
	return checkProfile(p, b.report(p))
}

// Run runs c; see [sandbox.Backend]. What it leaves running when it returns is said in the package's documentation.
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: fmt.Errorf("the context has ended already: %w", err)}
	}
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	k, err := b.newCall(p, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	return k.run(ctx)
}

// Close kills what runs and waits for it.
func (b *Backend) Close() error {
	b.calls.Close()
	return nil
}
