package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/cmd/internal/interrupt"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// runName is the name of the command that runs a call.
const runName = "run"

// runArgs is run with the arguments args. When they ask for help, it does nothing and returns dockerargs.ErrHelp.
func (a *app) runArgs(ctx context.Context, args []string) error {
	inv, err := a.parser(false).Parse(args)
	if errors.Is(err, dockerargs.ErrHelp) {
		return err
	}
	if err == nil {
		a.lazy = true
		err = a.runInvocation(ctx, inv)
	}
	return a.finish(ctx, err, inv.JSON)
}

func (a *app) runCmd() *cobra.Command {
	return dockerFlags(&cobra.Command{
		Use:   runName + " [flags] IMAGE COMMAND...",
		Short: "Run a program in a sandbox of its own",
		Long: "run starts COMMAND in a disposable sandbox with IMAGE as its root and passes its output on. It takes the flags of\n" +
			"docker run that agent gateways use, with the same meaning. What they leave out of the hardened profile holds all\n" +
			"the same; what they ask for beyond it is refused. IMAGE is host (this machine's own programs, read-only) or a name\n" +
			"from the configuration's images.",
		Example: "  toolcell run host python3 -c 'print(2 + 2)'\n" +
			"  toolcell run -i -v /srv/data:/data:ro --memory 256m --timeout 10s host sh -c 'sort | head' < words\n" +
			"  toolcell run --json host sh -c 'exit 3'",
		Annotations: exitTable(runExit),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.runArgs(cmd.Context(), args)
			if errors.Is(err, dockerargs.ErrHelp) {
				return cmd.Help()
			}
			return err
		},
	}, a.parser(false))
}

// finish reports an error that was not reported yet.
func (a *app) finish(ctx context.Context, err error, asJSON bool) error {
	var code exitCode
	if err == nil || errors.As(err, &code) {
		return err
	}
	return a.report(ctx, err, asJSON)
}

// runInvocation runs one call and returns its exit code as an error, or the error that kept it from running.
func (a *app) runInvocation(ctx context.Context, inv dockerargs.Invocation) error {
	cl, err := a.prepare(ctx, inv)
	if err != nil {
		return err
	}
	res, lost, err := a.execute(ctx, cl, inv)
	if cerr := cl.backend.Close(); cerr != nil {
		fmt.Fprintln(a.stderr, "toolcell: "+escapeText(cerr.Error()))
	}
	if err != nil {
		return err
	}
	res.Hints = slices.Concat(cl.hints, res.Hints)
	code := resultCode(ctx, res)
	if inv.JSON {
		if err := a.writeJSON(res); err != nil {
			return err
		}
	} else {
		a.explain(res, code)
	}
	if lost != nil {
		fmt.Fprintln(a.stderr, "toolcell: the program's output is not complete: "+escapeText(lost.Error()))
	}
	switch {
	case code != 0:
		return code
	case lost != nil:
		return exitOwn
	default:
		return nil
	}
}

// call is an invocation that met its configuration and its backend.
type call struct {
	backend sandbox.Backend
	profile sandbox.ContainerProfile
	hints   []string
}

// prepare reads the configuration, opens the backend and completes the profile. The backend is the caller's to close.
func (a *app) prepare(ctx context.Context, inv dockerargs.Invocation) (call, error) {
	cfg, err := a.loadConfig(inv.Config, inv.Backend)
	if err != nil {
		return call{}, err
	}
	cl := call{profile: inv.Profile}
	cl.profile.Require = slices.Concat(cl.profile.Require, cfg.Sandbox.Require)
	in, err := newInside(cl.profile, cfg.Sandbox.Images)
	if err != nil {
		return call{}, err
	}
	cl.profile.Env, cl.hints = in.dropForeign(cl.profile.Env)
	if cl.backend, err = a.openBackend(ctx, cfg, cl.profile); err != nil {
		return call{}, err
	}
	if err := checkRuntime(cl.backend.Name(), cl.profile.Runtime); err != nil {
		return call{}, errors.Join(err, cl.backend.Close())
	}
	return cl, nil
}

// checkRuntime refuses an engine's runtime where there is no engine.
func checkRuntime(backend, name string) error {
	if name == "" || backend != "native" {
		return nil
	}
	return &sandbox.Error{
		Kind: sandbox.KindInvalid, Op: "--runtime", Cause: fmt.Errorf("%q is a container engine's runtime, and the native backend has no engine", name),
		Fix: "leave it out, or use --runtime " + dockerargs.NativeRuntime,
	}
}

// execute runs the program, its output going out as it comes unless the result is wanted as JSON. lost says why not all
// of it could be written.
func (a *app) execute(ctx context.Context, cl call, inv dockerargs.Invocation) (res sandbox.Result, lost, err error) {
	c := sandbox.Command{Argv: inv.Command, Env: cl.profile.Env, ID: inv.Name}
	cl.profile.Env = nil // it belongs to this one call
	if inv.Stdin {
		c.Stdin = a.stdin
	}
	if inv.JSON {
		res, err = cl.backend.Run(ctx, cl.profile, c)
		return res, nil, err
	}
	stdout, stderr := newOutlet(a.stdout), newOutlet(a.stderr)
	c.Stdout, c.Stderr = stdout, stderr
	res, err = cl.backend.Run(ctx, cl.profile, c)
	return res, cmp.Or(stdout.finish(), stderr.finish()), err
}

// outlet is what a program's output is written to. It remembers the first write that failed: the program must not
// notice, the person must.
type outlet struct {
	w     io.Writer
	flush func() error

	mu  sync.Mutex // a writer that blocks may outlive the call
	err error
}

func newOutlet(w io.Writer) *outlet {
	o := &outlet{}
	o.w, o.flush = untrusted(w)
	return o
}

// Write passes p on.
func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// finish writes what is left and returns the first error.
func (o *outlet) finish() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = o.flush()
	}
	return o.err
}

// untrusted returns what a program's output is written to: w itself, or an escaper when w is a terminal.
func untrusted(w io.Writer) (io.Writer, func() error) {
	if !isTerminal(w) {
		return w, func() error { return nil }
	}
	e := &escaper{w: w}
	return e, e.flush
}

// explain says on stderr what the sandbox did to the program: always when the program failed or its output is not
// whole, and to a person at a terminal also otherwise.
func (a *app) explain(res sandbox.Result, code exitCode) {
	for _, s := range []struct {
		name  string
		cut   bool
		kept  int
		total int64
	}{
		{"stdout", res.StdoutTruncated, len(res.Stdout), res.StdoutBytes},
		{"stderr", res.StderrTruncated, len(res.Stderr), res.StderrBytes},
	} {
		if s.cut {
			fmt.Fprintf(a.stderr, "toolcell: %s is cut: %d of %d bytes; --output-limit keeps more\n", s.name, s.kept, s.total)
		}
	}
	if code == 0 && !isTerminal(a.stderr) {
		return
	}
	for _, h := range res.Hints {
		fmt.Fprintln(a.stderr, "toolcell: "+escapeText(h))
	}
}

// resultCode is the exit code that says what the program did.
func resultCode(ctx context.Context, res sandbox.Result) exitCode {
	switch res.Status {
	case sandbox.StatusExited:
		return exitCode(res.ExitCode)
	case sandbox.StatusSignaled:
		return exitCode(128 + res.SignalNumber)
	case sandbox.StatusTimeout, sandbox.StatusCPUTimeout:
		return 124
	case sandbox.StatusOOM:
		return 137
	case sandbox.StatusFileSize:
		return 153
	case sandbox.StatusCanceled:
		return exitCode(cmp.Or(interrupt.Code(ctx), 130))
	default:
		return exitOwn
	}
}
