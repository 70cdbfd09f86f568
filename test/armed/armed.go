// Package armed wraps a backend so that every call finds a sandbox standing ready, for the suites that have to pass on
// those as on any other.
//
// It proves nothing by itself: [Backend.Served] says for how many calls it was so.
package armed

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/soulacy/toolcell/sandbox"
)

// Armer is a backend on which sandboxes can stand ready.
type Armer interface {
	sandbox.Backend
	sandbox.Armer
}

// Backend has a sandbox built for each call before the call is made. What cannot be built so is left to the call, whose
// error it is.
type Backend struct {
	Armer
	// Found counts the calls that found a sandbox standing ready.
	Found func() int
	// Python, unless it is "", is the path of a Python that waits in each sandbox. It becomes the call's program, where that
	// is one that each image has; others are started without it, since what is said of a program that does not exist would
	// be Python's.
	Python string
	// calls counts those for which a sandbox stood ready, without those that were refused.
	calls atomic.Int64
}

// Run makes the call.
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	a := sandbox.Arming{Count: 1}
	if b.Python != "" {
		if !known(c) {
			return b.Armer.Run(ctx, p, c)
		}
		a.Interpreter = sandbox.InterpreterPython
		c.Argv = slices.Concat([]string{b.Python, "-c", becomes(slices.Concat(p.Env, c.Env))}, c.Argv)
	}
	a.Like = c
	if err := b.Arm(ctx, p, a); err != nil {
		return b.Armer.Run(ctx, p, c)
	}
	defer func() { _ = b.Arm(context.WithoutCancel(ctx), p, sandbox.Arming{}) }()
	r, err := b.Armer.Run(ctx, p, c)
	if !errors.Is(err, sandbox.ErrInvalid) && !errors.Is(err, sandbox.ErrRefused) { // which take nothing
		b.calls.Add(1)
	}
	return r, err
}

// known reports whether a call's program is one that the suites bring or every image has.
func known(c sandbox.Command) bool {
	if len(c.Argv) == 0 || slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		return false
	}
	programs := []string{"sh", "true", "env", "cat", "echo", "pwd", "sleep", "python3", "probe", "attempt"}
	name := path.Base(c.Argv[0])
	return slices.Contains(programs, name) && (c.Argv[0] == name || path.IsAbs(c.Argv[0])) && c.Validate() == nil
}

// becomes is a program that becomes another one, with the signals and the environment that it would have had.
func becomes(env []string) string {
	code := "import os, signal, sys\nfor s in signal.SIGPIPE, signal.SIGXFSZ: signal.signal(s, signal.SIG_DFL)\n"
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "LC_CTYPE=") }) {
		code += "os.environb.pop(b'LC_CTYPE', None)\n" // PEP 538
	}
	return code + "os.execvp(sys.argv[1], [os.fsencode(a) for a in sys.argv[1:]])"
}

// Served returns for how many calls that were not refused a sandbox stood ready, and how many found one. Calls that are made
// at the same time may take each other's.
func (b *Backend) Served() (ready, found int) { return int(b.calls.Load()), b.Found() }
