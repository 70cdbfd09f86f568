package tools_test

import (
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

func TestShellExec(t *testing.T) {
	b := &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "hi", "") }}
	ts := set(t, b)
	require.NoError(t, os.MkdirAll(filepath.Join(ts.Workspace, "a/b"), 0o700))
	for dir, want := range map[string]string{
		"": "/workspace", ".": "/workspace", "a": "/workspace/a", "a/b/": "/workspace/a/b", "/workspace": "/workspace", "/workspace/a": "/workspace/a",
		ts.Workspace + "/a/b": "/workspace/a/b", "a/../a": "/workspace/a",
	} {
		o, err := ts.ShellExec(t.Context(), tools.ShellArgs{
			Command: "echo $1 'x'", WorkingDir: dir, Streams: tools.Streams{Stdin: strings.NewReader("in")},
		})
		require.NoError(t, err, dir)
		assert.Equal(t, "hi\n", o.Text())
		calls := b.Calls()
		call := calls[len(calls)-1]
		assert.Equal(t, []string{"/bin/sh", "-c", "echo $1 'x'"}, call.Command.Argv)
		assert.Equal(t, want, call.Command.Dir)
		assert.Equal(t, "in", string(call.Stdin))
		assert.Equal(t, []sandbox.Mount{{Source: ts.Workspace, Target: "/workspace", Writable: true, Exec: true}}, call.Profile.Binds)
		assert.Equal(t, "none", call.Profile.Network)
	}
	n := len(b.Calls())
	for _, dir := range []string{"missing", "..", "/etc", "/", "a/../../x"} {
		_, err := ts.ShellExec(t.Context(), tools.ShellArgs{Command: "x", WorkingDir: dir})
		assert.Error(t, err, dir)
		assert.True(t, tools.Final(err), dir)
	}
	_, err := ts.ShellExec(t.Context(), tools.ShellArgs{Command: " \n"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	assert.Len(t, b.Calls(), n)
}

func TestShellExecTimeouts(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{
		0: 60 * time.Second, -1: 60 * time.Second, time.Second: time.Second, 600 * time.Second: 600 * time.Second, 601 * time.Second: 600 * time.Second,
	} {
		b := fake.New(ended(sandbox.StatusTimeout, "half\n"))
		o, err := set(t, b).ShellExec(t.Context(), tools.ShellArgs{Command: "x", Timeout: asked})
		require.NoError(t, err)
		assert.Equal(t, want, b.Calls()[0].Command.Timeout)
		assert.Equal(t, "error: timed out after "+want.String()+"\nhalf\n", o.Text())
	}
}

func TestOutputText(t *testing.T) {
	for _, c := range []struct {
		reply fake.Reply
		want  string
	}{
		{fake.Exit(0, "", ""), "(no output)\n"},
		{fake.Exit(0, "a", "b"), "a\n\n--- stderr ---\nb\n"},
		{fake.Exit(1, "a\n", ""), "exit_code: 1\na\n"},
		{fake.Exit(127, "", "sh: x: not found\n"), "exit_code: 127\n\n--- stderr ---\nsh: x: not found\n"},
		{ended(sandbox.StatusOOM, ""), "error: out of memory\n"},
		{ended(sandbox.StatusCanceled, ""), "error: canceled\n"},
		{ended(sandbox.StatusCPUTimeout, ""), "error: the CPU time is used up\n"},
		{ended(sandbox.StatusFileSize, ""), "error: a file grew too large\n"},
		{fake.Reply{Result: sandbox.Result{Status: sandbox.StatusSignaled, SignalNumber: 9}}, "exit_code: 137\n"},
		{fake.Exit(0, strings.Repeat("é", 4001), ""), strings.Repeat("é", 4000) + "\n[output truncated]\n"},
		{fake.Exit(0, "x"+strings.Repeat("é", 4000), ""), "x" + strings.Repeat("é", 3999) + "\n[output truncated]\n"},
		{fake.Exit(0, strings.Repeat("x", 8000), ""), strings.Repeat("x", 8000) + "\n"},
		{fake.Exit(0, "", strings.Repeat("x", 100000)), "\n--- stderr ---\n" + strings.Repeat("x", 8000) + "\n[output truncated]\n"},
	} {
		o, err := set(t, fake.New(c.reply)).ShellExec(t.Context(), tools.ShellArgs{Command: "x"})
		require.NoError(t, err)
		assert.Equal(t, c.want, o.Text())
	}
}

func TestRunScript(t *testing.T) {
	b := &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }}
	ts := set(t, b)
	for script, want := range map[string]string{
		"a.py": "python3", "b.sh": "bash", "c.js": "node", "d.rb": "ruby", "e": "bash", "f.PY": "python3", "g.txt": "bash", "-h.py": "python3",
	} {
		path := filepath.Join(ts.Workspace, "s", script)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		_, err := ts.RunScript(t.Context(), tools.ScriptArgs{Path: "s/" + script, Args: []string{"-x", ""}})
		require.NoError(t, err, script)
		calls := b.Calls()
		call := calls[len(calls)-1].Command
		assert.Equal(t, []string{want, "/workspace/s/" + script, "-x", ""}, call.Argv)
		assert.Equal(t, "/workspace/s", call.Dir)
		assert.Equal(t, 5*time.Minute, call.Timeout)
	}
	n := len(b.Calls())
	for _, path := range []string{"", "s", "missing.py", "/etc/passwd", "../x.py"} {
		_, err := ts.RunScript(t.Context(), tools.ScriptArgs{Path: path})
		assert.Error(t, err, path)
		assert.True(t, tools.Final(err), path)
	}
	assert.Len(t, b.Calls(), n)
}

func TestPythonEval(t *testing.T) {
	code := strings.Repeat("#", 200<<10)
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		got, err := os.ReadFile(filepath.Join(source(t, c, "/code"), "main.py"))
		assert.NoError(t, err)
		assert.Equal(t, code, string(got))
		return fake.Exit(0, "4\n", "")
	}}
	ts := set(t, b)
	o, err := ts.PythonEval(t.Context(), tools.EvalArgs{Code: code})
	require.NoError(t, err)
	assert.Equal(t, "4\n", o.Text())
	call := b.Calls()[0]
	assert.Equal(t, []string{"python3", "/code/main.py"}, call.Command.Argv)
	assert.Equal(t, "/workspace", call.Command.Dir)
	assert.Equal(t, 30*time.Second, call.Command.Timeout)
	assert.Len(t, call.Profile.Binds, 2)
	assert.Empty(t, names(t, ts.TempDir))
	_, err = ts.PythonEval(t.Context(), tools.EvalArgs{Code: " "})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
}

// A refusal names the tool, keeps its class, and no program runs.
func TestBuiltinsRefuse(t *testing.T) {
	down := &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "docker", Cause: errors.New("the daemon is down")}
	for name, c := range map[string]struct {
		tools tools.Tools
		want  error
	}{
		"zero value":   {tools.Tools{}, sandbox.ErrRefused},
		"down":         {set(t, &fake.Backend{ReadyErr: down}), sandbox.ErrUnavailable},
		"no workspace": {tools.Tools{Chooser: always(fake.New())}, sandbox.ErrRefused},
		"missing":      {set(t, fake.New(fake.Fail(&sandbox.Error{Kind: sandbox.KindInvalid, Cause: sandbox.ErrNotFound}))), sandbox.ErrNotFound},
	} {
		_, err := c.tools.ShellExec(t.Context(), tools.ShellArgs{Command: "x"})
		require.ErrorIs(t, err, c.want, name)
		assert.ErrorContains(t, err, `privileged tool "shell_exec" refused: `, name)
		assert.True(t, tools.Final(err), name)
	}
}
