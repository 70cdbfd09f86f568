package interpreters_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/need"
)

// TestMain lets this binary be the native backend's spawner.
func TestMain(m *testing.M) {
	spawner.Main()
	os.Exit(m.Run())
}

// Where run_code's programs find their code and leave their files.
const (
	codeTarget   = "/code"
	outputTarget = "/output"
)

// inside is who the program of a root caller is.
const inside = 65532

// how is what happens between the making of a call's directories and the writing of its program: what is made ready then
// cannot have seen the program.
type how struct {
	name  string
	ready func(context.Context, sandbox.Backend, sandbox.ContainerProfile, sandbox.Command) error
}

// cold makes nothing ready: the call builds its sandbox and starts its interpreter.
func cold() how {
	return how{name: "cold", ready: func(context.Context, sandbox.Backend, sandbox.ContainerProfile, sandbox.Command) error {
		return nil
	}}
}

// ahead has the interpreter started before there is a program.
func ahead(with sandbox.Arming) how {
	return how{name: "ahead", ready: func(ctx context.Context, b sandbox.Backend, p sandbox.ContainerProfile, c sandbox.Command) error {
		with.Count, with.Once, with.Like, with.Interpreter = 1, true, c, interpreter(c)
		return b.(sandbox.Armer).Arm(ctx, p, with)
	}}
}

// interpreter is the kind of what a command starts.
func interpreter(c sandbox.Command) sandbox.Interpreter {
	if c.Argv[0] == node().argv[0] {
		return sandbox.InterpreterNode
	}
	return sandbox.InterpreterPython
}

// run runs a program as run_code does.
func run(t *testing.T, b sandbox.Backend, p program, h how) outcome {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	code, output := filepath.Join(dir, "code"), filepath.Join(dir, "output")
	for _, d := range []string{code, output} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.Chmod(d, 0o755))
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(output, inside, inside))
	}
	profile := sandbox.ContainerProfile{Binds: []sandbox.Mount{
		{Source: code, Target: codeTarget},
		{Source: output, Target: outputTarget, Writable: true},
	}}
	c := p.command()
	require.NoError(t, h.ready(t.Context(), b, profile, c), h.name)
	p.written(t, code)
	r, err := b.Run(t.Context(), profile, c)
	require.NoError(t, err, h.name)
	return observe(t, r, output)
}

// runAhead runs a program in an interpreter that was started ahead of it. What stands ready may be given up before its call
// comes, which is then made all the same; that is tried again. No other call is made ahead meanwhile.
func runAhead(t *testing.T, b sandbox.Backend, p program, h how) outcome {
	t.Helper()
	for range 5 {
		before := served(b)
		if o := run(t, b, p, h); served(b) > before {
			return o
		}
	}
	require.Fail(t, "no call finds what was started ahead for it")
	return outcome{}
}

// served is how many calls found what stood ready for them.
func served(b sandbox.Backend) int { return b.(*native.Backend).ArmedStats().Served }

// command is the call.
func (p program) command() sandbox.Command {
	c := sandbox.Command{Dir: outputTarget}
	c.Argv = append(append(c.Argv, p.argv...), codeTarget+"/"+p.main)
	c.Argv = append(c.Argv, p.args...)
	c.Env = append(append(c.Env, p.env...), "OUTPUT_DIR="+outputTarget)
	c.Env = append(c.Env, p.vars...)
	if p.stdin != nil {
		c.Stdin = bytes.NewReader(p.stdin)
	}
	return c
}

// open opens the backend, or ends the test where it cannot keep every guarantee.
func open(t *testing.T) sandbox.Backend {
	t.Helper()
	b, err := native.Open(t.Context(), native.Config{})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, b.Close()) })
		_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	}
	need.NoError(t, err, "this host cannot keep every guarantee")
	return b
}

// requireInterpreter ends the test where the sandbox finds no interpreter of the language.
func requireInterpreter(t *testing.T, b sandbox.Backend, l language) {
	t.Helper()
	r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: append(l.argv, "--version")})
	need.NoError(t, err, "no "+l.argv[0]+" here")
	require.Equal(t, sandbox.StatusExited, r.Status)
	t.Logf("%s%s", r.Stdout, r.Stderr)
}
