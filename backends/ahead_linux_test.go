package backends_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// standing opens a runner on the native backend, and returns that too.
func standing(t *testing.T, o backends.Options) (*backends.Runner, *native.Backend, tools.Tools) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var b *native.Backend
	o.Open = func(ctx context.Context, name string, c backends.Config) (sandbox.Backend, error) {
		opened, err := backends.OpenBackend(ctx, name, c)
		b, _ = opened.(*native.Backend)
		return opened, err
	}
	workspace := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(workspace), 0o755))
	require.NoError(t, os.Chmod(workspace, 0o755))
	r, err := backends.Open(t.Context(), parse(t, "runtime: {sandbox: {binary: native, workspace: "+workspace+"}}"), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	require.NotNil(t, b)
	return r, b, r.Tools(config.Agent{})
}

// ready waits until so many sandboxes stand ready.
func ready(t *testing.T, b *native.Backend, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return b.ArmedStats().Ready == n }, time.Minute, 10*time.Millisecond, "%+v", b.ArmedStats())
}

// run is a call, and what it printed.
type run struct {
	name string
	call func(ctx context.Context, t tools.Tools) (string, error)
}

func code(language, text string, want func(*tools.CodeArgs)) run {
	return run{"run_code " + language, func(ctx context.Context, t tools.Tools) (string, error) {
		a := tools.CodeArgs{Language: language, Code: text}
		if want != nil {
			want(&a)
		}
		r, err := t.RunCode(ctx, a)
		for _, f := range r.Artifacts {
			r.Result.Stdout = append(append(r.Result.Stdout, f.Name+"="...), f.Data...)
		}
		return string(r.Result.Stdout) + string(r.Result.Stderr), err
	}}
}

// What was prepared, or called once, is found ready by the next call, on every way that runs a program.
func TestCallsFindSandboxesReady(t *testing.T) {
	_, b, all := standing(t, backends.Options{Prepare: true})
	ready(t, b, 10) // two each of the shell, python_eval and run_code's three languages
	tool := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(tool), 0o755))
	require.NoError(t, os.Chmod(tool, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tool, "tool.py"), []byte("def double(n): return n * 2\n"), 0o644))
	eval := func(f func(context.Context, tools.Tools) (tools.Output, error)) func(context.Context, tools.Tools) (string, error) {
		return func(ctx context.Context, t tools.Tools) (string, error) {
			o, err := f(ctx, t)
			return string(o.Result.Stdout) + string(o.Result.Stderr), err
		}
	}
	python := func(f func(context.Context, tools.Tools) (tools.PythonResult, error)) func(context.Context, tools.Tools) (string, error) {
		return func(ctx context.Context, t tools.Tools) (string, error) {
			r, err := f(ctx, t)
			return r.Text() + "\n", err
		}
	}
	call := tools.PythonCall{Name: "double", Arguments: []byte(`{"n": 2}`)}
	for _, r := range []run{
		code("python", "print(2+2); open('f', 'w').write('x')", nil),
		code("node", "console.log(2+2); require('fs').writeFileSync('f', 'x')", nil),
		code("bash", "echo $((2+2)); printf x > f", nil),
		{"shell_exec", eval(func(ctx context.Context, t tools.Tools) (tools.Output, error) {
			return t.ShellExec(ctx, tools.ShellArgs{Command: "echo 4"})
		})},
		{"python_eval", eval(func(ctx context.Context, t tools.Tools) (tools.Output, error) {
			return t.PythonEval(ctx, tools.EvalArgs{Code: "print(2+2)"})
		})},
	} {
		served(t, b, all, r, true)
	}
	// Of these only a call says that there will be more.
	for i, r := range []run{
		{"python_file", python(func(ctx context.Context, t tools.Tools) (tools.PythonResult, error) {
			return t.PythonFile(ctx, tools.FileArgs{PythonCall: call, File: filepath.Join(tool, "tool.py")})
		})},
		{"inline", python(func(ctx context.Context, t tools.Tools) (tools.PythonResult, error) {
			return t.Inline(ctx, tools.InlineArgs{PythonCall: call, Code: "def f(a): return a['n'] * 2", Function: "f"})
		})},
		code("python", "print(input())", func(a *tools.CodeArgs) { a.Stdin = strings.NewReader("4\n") }),
	} {
		ready(t, b, 10+2*i)
		served(t, b, all, r, false)
		ready(t, b, 12+2*i)
		served(t, b, all, r, true)
	}
}

func served(t *testing.T, b *native.Backend, all tools.Tools, r run, want bool) {
	t.Helper()
	before := b.ArmedStats().Served
	out, err := r.call(t.Context(), all)
	require.NoError(t, err, r.name)
	assert.Regexp(t, `^4\n(f=x)?$`, out, r.name)
	assert.Equal(t, want, b.ArmedStats().Served > before, "%s: was a sandbox ready?", r.name)
}

// A call that an interpreter cannot take any more is made as any other, and what was ready for it goes with it.
func TestCallsThatDifferStartAnew(t *testing.T) {
	r, b, all := standing(t, backends.Options{Prepare: true})
	ready(t, b, 10)
	for range 3 {
		served(t, b, all, code("python", "import sys; print(4 if sys.flags.utf8_mode else 0)", func(a *tools.CodeArgs) { a.Env = []string{"PYTHONUTF8=1"} }), false)
	}
	ready(t, b, 10)
	require.NoError(t, r.Close())
	assert.Zero(t, b.ArmedStats().Ready)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "toolcell-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Nothing is kept ready where nobody wants it.
func TestNothingReady(t *testing.T) {
	for name, o := range map[string]backends.Options{"once": {Once: true, Prepare: true}, "cold": {Cold: true, Prepare: true}, "inspect": {Inspect: true, Prepare: true}} {
		_, b, all := standing(t, o)
		out, err := code("python", "print(4)", nil).call(t.Context(), all)
		require.NoError(t, err, name)
		assert.Equal(t, "4\n", out)
		assert.Equal(t, native.ArmedStats{}, b.ArmedStats(), name)
	}
}
