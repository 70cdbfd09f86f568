package tools_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// choose is a Chooser that is a function.
type choose func(tools.Request) (tools.Place, error)

func (c choose) Choose(_ context.Context, r tools.Request) (tools.Place, error) { return c(r) }

// always runs everything on b under the zero profile.
func always(b sandbox.Backend) choose {
	return func(tools.Request) (tools.Place, error) { return tools.Place{Backend: b}, nil }
}

// set makes tools that run on b, with an empty workspace.
func set(t *testing.T, b sandbox.Backend) tools.Tools {
	t.Helper()
	return tools.Tools{Chooser: always(b), Workspace: realTemp(t), TempDir: realTemp(t)}
}

// realTemp returns a temporary directory by a path without links.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// source is the host's directory behind a target of a recorded call.
func source(t *testing.T, c fake.Call, target string) string {
	t.Helper()
	for _, m := range c.Profile.Binds {
		if m.Target == target {
			return m.Source
		}
	}
	require.Fail(t, "no mount", "at %s in %v", target, c.Profile.Binds)
	return ""
}

// The seed's own examples, to the byte.
func TestRunCodeText(t *testing.T) {
	for _, c := range []struct {
		reply fake.Reply
		want  string
	}{
		{fake.Exit(0, "4\n", ""), "Exit code: 0\n\n--- stdout ---\n4\n"},
		{fake.Exit(1, "", "SyntaxError: bad"), "Exit code: 1\n\n--- stderr ---\nSyntaxError: bad\n"},
		{fake.Exit(0, "", ""), "Exit code: 0\n\n(no output)\n"},
		{fake.Exit(3, "a", "b\n"), "Exit code: 3\n\n--- stdout ---\na\n\n--- stderr ---\nb\n"},
		{fake.Exit(125, "", ""), "Exit code: 125\n\n(no output)\n"},
		{fake.Exit(0, "\xff\x00x", ""), "Exit code: 0\n\n--- stdout ---\n\uFFFD\x00x\n"},
		{ended(sandbox.StatusTimeout, "half"), "Execution timed out after 30s\n\n--- stdout ---\nhalf\n"},
		{ended(sandbox.StatusTimeout, ""), "Execution timed out after 30s\n\n(no output)\n"},
		{ended(sandbox.StatusOOM, ""), "Execution stopped: out of memory at 512 MB\n\n(no output)\n"},
		{ended(sandbox.StatusCPUTimeout, ""), "Execution stopped: the CPU time is used up\n\n(no output)\n"},
		{ended(sandbox.StatusFileSize, ""), "Execution stopped: a file grew too large\n\n(no output)\n"},
		{ended(sandbox.StatusCanceled, ""), "Execution canceled\n\n(no output)\n"},
		{
			fake.Reply{Result: sandbox.Result{Status: sandbox.StatusSignaled, Signal: "SIGSEGV", SignalNumber: 11}},
			"Exit code: 139\n\n(no output)\n",
		},
		{
			fake.Reply{Result: sandbox.Result{Stdout: []byte("ab\xe2\x82"), StdoutBytes: 99, Hints: []string{"the network is off"}}},
			"Exit code: 0\n\n--- stdout ---\nab\n[output truncated]\n\n--- hints ---\nthe network is off\n",
		},
		{
			fake.Reply{Result: sandbox.Result{Stdout: []byte("\xe2\x82"), StdoutBytes: 99}},
			"Exit code: 0\n\n--- stdout ---\n[output truncated]\n",
		},
	} {
		r, err := set(t, fake.New(c.reply)).RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "x"})
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Text())
	}
}

func ended(s sandbox.Status, stdout string) fake.Reply {
	return fake.Reply{Result: sandbox.Result{Status: s, Stdout: []byte(stdout)}}
}

func TestRunCodeLanguages(t *testing.T) {
	for language, c := range map[string]struct {
		aliases []string
		argv    []string
	}{
		"python": {[]string{"py", "python", "python3", " Py ", "PYTHON3"}, []string{"python3", "/code/main.py"}},
		"node":   {[]string{"js", "javascript", "node", "Node\n"}, []string{"node", "/code/main.js"}},
		"bash":   {[]string{"sh", "bash", "shell", "SHELL"}, []string{"bash", "/code/main.sh"}},
	} {
		for _, alias := range c.aliases {
			b := fake.New(fake.Exit(0, "", ""))
			ts := set(t, b)
			var asked tools.Request
			ts.Chooser = choose(func(r tools.Request) (tools.Place, error) {
				asked = r
				return tools.Place{Backend: b}, nil
			})
			r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: alias, Code: "x"})
			require.NoError(t, err)
			assert.Equal(t, language, r.Language)
			assert.Equal(t, tools.Request{Tool: tools.NameRunCode, Language: language}, asked)
			assert.Equal(t, c.argv, b.Calls()[0].Command.Argv)
		}
	}
}

func TestRunCodeRefuses(t *testing.T) {
	b := fake.New()
	ts := set(t, b)
	for _, c := range []struct {
		args tools.CodeArgs
		want string
	}{
		{tools.CodeArgs{Language: "rust", Code: "   "}, "code is required."},
		{tools.CodeArgs{Code: "\n\t"}, "code is required."},
		{tools.CodeArgs{Language: "rust", Code: "x"}, `unsupported language "rust" (supported: bash, node, python).`},
		{tools.CodeArgs{Code: "x"}, `unsupported language "" (supported: bash, node, python).`},
		{tools.CodeArgs{Language: "py", Code: strings.Repeat("x", tools.MaxCode+1)}, "code: 8388609 bytes, more than 8388608"},
		{tools.CodeArgs{Language: "py", Code: "x", Isolation: "none"}, `isolation: "none" is none to ask for; use "sandbox" or leave it out`},
	} {
		_, err := ts.RunCode(t.Context(), c.args)
		require.ErrorIs(t, err, sandbox.ErrInvalid, c.want)
		assert.Equal(t, c.want, err.Error())
		assert.True(t, tools.Final(err))
	}
	assert.Empty(t, b.Calls())
	assert.Empty(t, names(t, ts.TempDir))
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestRunCodeTimeouts(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, -5 * time.Second: 30 * time.Second, time.Second: time.Second, 300 * time.Second: 300 * time.Second,
		301 * time.Second: 300 * time.Second, 99999 * time.Second: 300 * time.Second, time.Duration(1<<63 - 1): 300 * time.Second,
	} {
		b := fake.New(ended(sandbox.StatusTimeout, ""), ended(sandbox.StatusTimeout, ""))
		ts := set(t, b)
		r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "bash", Code: "x", Timeout: asked})
		require.NoError(t, err)
		assert.Equal(t, want, b.Calls()[0].Command.Timeout)
		assert.Contains(t, r.Text(), "Execution timed out after "+want.String()+"\n")
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: b, MaxTimeout: 10 * time.Second}, nil
		})
		_, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "bash", Code: "x", Timeout: asked})
		require.NoError(t, err)
		assert.Equal(t, min(want, 10*time.Second), b.Calls()[1].Command.Timeout, "the operator's word")
	}
}

func TestRunCodePIDs(t *testing.T) {
	for configured, want := range map[int]int{0: 128, 1: 1, 128: 128, 256: 256, 300: 256} {
		b := fake.New(fake.Exit(0, "", ""))
		ts := set(t, b)
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{PIDs: configured}}, nil
		})
		_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "bash", Code: "x"})
		require.NoError(t, err)
		assert.Equal(t, want, b.Calls()[0].Profile.PIDs)
	}
}

// The code is a file of any size, standard input is the caller's, and nothing of either is an argument.
func TestRunCodeHandsOver(t *testing.T) {
	code := "# " + strings.Repeat("é", 200<<10)
	var seen string
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		got, err := os.ReadFile(filepath.Join(source(t, c, "/code"), "main.py"))
		assert.NoError(t, err)
		seen = string(got)
		return fake.Exit(0, "out", "err")
	}}
	ts := set(t, b)
	var stdout, stderr bytes.Buffer
	_, err := ts.RunCode(t.Context(), tools.CodeArgs{
		Language: "py", Code: code, Stdin: strings.NewReader("in"), Env: []string{"A=1"}, Stdout: &stdout, Stderr: &stderr,
	})
	require.NoError(t, err)
	call := b.Calls()[0]
	assert.Equal(t, code, seen)
	assert.Equal(t, "in", string(call.Stdin))
	assert.Equal(t, "out", stdout.String())
	assert.Equal(t, "err", stderr.String())
	assert.Equal(t, "/output", call.Command.Dir)
	assert.Equal(t, []string{
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8", "OUTPUT_DIR=/output", "A=1",
	}, call.Command.Env)
	assert.Equal(t, "none", call.Profile.Network)
	assert.Len(t, call.Profile.Binds, 2)
	for _, m := range call.Profile.Binds {
		assert.Equal(t, m.Target == "/output", m.Writable, m.Target)
		assert.Equal(t, !m.Writable, m.Exec, m.Target)
		assert.NoError(t, m.Validate())
	}
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")
}

// A place that has a directory to work in keeps it.
func TestRunCodeWorkdir(t *testing.T) {
	b := fake.New(fake.Exit(0, "", ""), fake.Exit(0, "", ""))
	ts := set(t, b)
	for i, dirs := range [][2]string{{"/workspace", "/workspace"}, {"/tmp", "/output"}} {
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Workdir: dirs[0]}}, nil
		})
		_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x"})
		require.NoError(t, err)
		assert.Equal(t, dirs[1], b.Calls()[i].Command.Dir)
	}
}

func TestRunCodeNetwork(t *testing.T) {
	b := &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }}
	ts := set(t, b)
	_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x", Network: true})
	require.ErrorIs(t, err, sandbox.ErrRefused, "the chooser granted none")
	var e *sandbox.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, sandbox.NetNone, e.Guarantee)
	assert.NotEmpty(t, e.Fix)
	assert.Empty(t, b.Calls())

	ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
		return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Network: "egress"}}, nil
	})
	for i, asked := range []bool{true, false} {
		_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x", Network: asked})
		require.NoError(t, err)
		assert.Equal(t, map[bool]string{true: "egress", false: "none"}[asked], b.Calls()[i].Profile.Network)
	}
}

func TestRunCodeErrors(t *testing.T) {
	for name, c := range map[string]struct {
		tools tools.Tools
		want  error
		final bool
	}{
		"zero value": {tools.Tools{}, sandbox.ErrRefused, true},
		"no backend": {tools.Tools{Chooser: choose(func(tools.Request) (tools.Place, error) { return tools.Place{}, nil })}, sandbox.ErrRefused, true},
		"refused": {tools.Tools{Chooser: choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{}, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "select", Cause: errors.New("nothing")}
		})}, sandbox.ErrUnavailable, true},
		"not ready": {set(t, &fake.Backend{ReadyErr: &sandbox.Error{Kind: sandbox.KindUnavailable, Cause: errors.New("x")}}), sandbox.ErrUnavailable, true},
		"set-up":    {set(t, fake.New(fake.Fail(&sandbox.Error{Kind: sandbox.KindSetup, Cause: errors.New("x")}))), sandbox.ErrSetup, false},
		"missing program": {set(t, fake.New(fake.Fail(&sandbox.Error{Kind: sandbox.KindInvalid, Cause: sandbox.ErrNotFound}))),
			sandbox.ErrNotFound, true},
		"no directory": {tools.Tools{Chooser: always(fake.New()), TempDir: "/nonexistent/x"}, sandbox.ErrSetup, false},
		"on the host": {tools.Tools{Chooser: choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: fake.New(), OnHost: true}, nil
		})}, sandbox.ErrRefused, true},
	} {
		_, err := c.tools.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x", Isolation: "sandbox"})
		require.ErrorIs(t, err, c.want, name)
		assert.Equal(t, c.final, tools.Final(err), name)
		if c.tools.TempDir != "" && name != "no directory" {
			assert.Empty(t, names(t, c.tools.TempDir), name)
		}
	}
}

// On the host there are no mounts: paths are the host's.
func TestRunCodeOnHost(t *testing.T) {
	var call fake.Call
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		call = c
		assert.NoError(t, os.WriteFile(filepath.Join(c.Command.Dir, "a.txt"), []byte("x"), 0o600))
		assert.FileExists(t, c.Command.Argv[1])
		return fake.Exit(0, "", "")
	}}
	ts := set(t, b)
	ts.Chooser = choose(func(tools.Request) (tools.Place, error) { return tools.Place{Backend: b, OnHost: true}, nil })
	r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x"})
	require.NoError(t, err)
	assert.Empty(t, call.Profile.Binds)
	assert.Len(t, r.Artifacts, 1)
	assert.Empty(t, names(t, ts.TempDir))
}

func TestRunCodeCancel(t *testing.T) {
	ts := set(t, fake.New(fake.Reply{Block: true}))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	r, err := ts.RunCode(ctx, tools.CodeArgs{Language: "py", Code: "x"})
	if err != nil { // it was canceled before it started
		assert.True(t, tools.Final(err))
		return
	}
	assert.Equal(t, sandbox.StatusCanceled, r.Result.Status)
	assert.Empty(t, names(t, ts.TempDir))
}

func TestPrepare(t *testing.T) {
	b := fake.New()
	ts := set(t, b)
	images := map[string]string{"python": "python:3.12-slim", "node": "node:22-alpine", "bash": "bash:5"}
	ts.Chooser = choose(func(r tools.Request) (tools.Place, error) {
		image := images[r.Language]
		if r.Tool == tools.NamePythonFile {
			image = "tools:1"
		}
		return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Image: image}}, nil
	})
	require.NoError(t, ts.Prepare(t.Context()))
	var got []string
	for _, p := range b.Prepared() {
		got = append(got, p.Image)
	}
	assert.ElementsMatch(t, []string{"", "tools:1", "python:3.12-slim", "node:22-alpine", "bash:5"}, got)

	b.PrepareErr = errors.New("no such image")
	assert.ErrorIs(t, ts.Prepare(t.Context()), b.PrepareErr)
	assert.NoError(t, tools.Tools{}.Prepare(t.Context()), "what is refused needs no image")
}
