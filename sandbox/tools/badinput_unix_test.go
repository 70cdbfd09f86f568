//go:build !windows

package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
	"github.com/soulacy/toolcell/test/fake"
)

// What a schema requires is required: a call without it, or with null, neither runs nor changes anything.
func TestRequiredArguments(t *testing.T) {
	b := fake.New()
	ts := set(t, b)
	ts.Download.Fetcher = netguard.Guard{}
	require.NoError(t, os.WriteFile(filepath.Join(ts.Workspace, "x"), []byte("kept"), 0o600))
	for _, d := range tools.Definitions() {
		s := parseSchema(t, d.Schema)
		for _, missing := range s.Required {
			for _, null := range []bool{false, true} {
				given := map[string]any{}
				for _, name := range s.Required {
					given[name] = "x"
				}
				if delete(given, missing); null {
					given[missing] = nil
				}
				raw, err := json.Marshal(given)
				require.NoError(t, err)
				r := ts.Call(t.Context(), d.Name, raw, tools.Streams{})
				assert.ErrorIs(t, r.Err, sandbox.ErrInvalid, "%s %s", d.Name, raw)
			}
		}
	}
	assert.Empty(t, b.Calls())
	assert.Equal(t, "kept", read(t, filepath.Join(ts.Workspace, "x")))
	r := ts.Call(t.Context(), tools.NameWriteFile, json.RawMessage(`{"path":"x","content":""}`), tools.Streams{})
	require.NoError(t, r.Err)
	assert.Empty(t, read(t, filepath.Join(ts.Workspace, "x")), "an empty content is one")
}

// The name of a directory is not that of a file.
func TestDirectoryNames(t *testing.T) {
	ts := set(t, fake.New())
	require.NoError(t, os.WriteFile(filepath.Join(ts.Workspace, "x"), []byte("kept"), 0o600))
	for _, path := range []string{"x/", "x/.", "x/y/..", "new/", "/workspace/x/", ts.Workspace + "/x/", "x//"} {
		for _, raw := range []string{
			fmt.Sprintf(`write_file {"path":%q,"content":"lost"}`, path), fmt.Sprintf(`read_file {"path":%q}`, path),
			fmt.Sprintf(`run_script {"path":%q}`, path),
		} {
			name, arguments, _ := strings.Cut(raw, " ")
			r := ts.Call(t.Context(), tools.Name(name), json.RawMessage(arguments), tools.Streams{})
			require.ErrorIs(t, r.Err, sandbox.ErrInvalid, raw)
			assert.Contains(t, r.Text, "is the name of a directory (end the path with the file's name", raw)
		}
	}
	assert.Equal(t, "kept", read(t, filepath.Join(ts.Workspace, "x")))
	assert.Equal(t, []string{"x"}, names(t, ts.Workspace))
}

// A refusal says how what is missing gets where a program finds it, whatever the first root is, in the caller's words.
func TestRefusalsSayWhatToWrite(t *testing.T) {
	ts := set(t, fake.New())
	ts.Roots = []string{realTemp(t)}
	long, nul := strings.Repeat("a", sandbox.MaxArg), "a\x00b"
	for raw, want := range map[string]string{
		`run_script {"path":"a.py"}`:                                 `(write it first, with write_file, to /workspace/a.py)`,
		`run_script {"path":"/workspace/d/a.py"}`:                    `(write it first, with write_file, to /workspace/d/a.py)`,
		`shell_exec {"command":"x","working_dir":"d"}`:               `(make it first, with shell_exec, which starts in /workspace: mkdir -p /workspace/d)`,
		`shell_exec {"cmd":"x"}`:                                     `unknown field "cmd" (accepted: command, working_dir, timeout, isolation)`,
		fmt.Sprintf(`shell_exec {"command":%q}`, long):               "shell_exec: command: 131072 bytes, and a command line takes at most 131071 in one piece (write it to a script with write_file, as /workspace/NAME, and run that)",
		`shell_exec {"command":"a\u0000b"}`:                          "shell_exec: command: NUL byte at offset 1 (write it to a script with write_file, as /workspace/NAME, and run that)",
		fmt.Sprintf(`run_script {"path":"x","args":["a",%q]}`, long): "run_script: args[1]: 131072 bytes",
	} {
		name, arguments, _ := strings.Cut(raw, " ")
		r := ts.Call(t.Context(), tools.Name(name), json.RawMessage(arguments), tools.Streams{})
		require.ErrorIs(t, r.Err, sandbox.ErrInvalid, name)
		assert.Contains(t, r.Text, want)
	}
	_, err := ts.RunScript(t.Context(), tools.ScriptArgs{Path: "x", Args: []string{nul}})
	assert.ErrorContains(t, err, "args[0]: NUL byte at offset 1")
}

// A refusal of a backend's says nothing of where the workspace lies.
func TestRefusalNamesWorkspace(t *testing.T) {
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		return fake.Fail(&sandbox.Error{Kind: sandbox.KindRefused, Op: "mount " + source(t, c, "/workspace"), Cause: os.ErrPermission, Fix: "open it"})
	}}
	_, err := set(t, b).ShellExec(t.Context(), tools.ShellArgs{Command: "x"})
	assert.EqualError(t, err, `privileged tool "shell_exec" refused: mount /workspace: permission denied (open it)`)
	assert.ErrorIs(t, err, sandbox.ErrRefused)
	assert.ErrorIs(t, err, os.ErrPermission)
}

// A program that closes the workspace closes it to itself alone, and opens it to nobody else of this machine.
func TestWorkspaceModeStays(t *testing.T) {
	for _, mode := range []os.FileMode{0, 0o777, 0o700 | os.ModeSticky} {
		b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
			assert.NoError(t, os.Chmod(source(t, c, "/workspace"), mode))
			return fake.Exit(0, "done\n", "")
		}}
		ts := set(t, b)
		require.NoError(t, os.Chmod(ts.Workspace, 0o700))
		o, err := ts.ShellExec(t.Context(), tools.ShellArgs{Command: "x"})
		require.NoError(t, err)
		assert.Equal(t, "done\n", o.Text())
		info, err := os.Stat(ts.Workspace)
		require.NoError(t, err)
		assert.Equal(t, os.ModeDir|0o700, info.Mode())
	}
}
