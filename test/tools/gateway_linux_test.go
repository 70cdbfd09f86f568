package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// gateway opens a runner as a gateway does, with a workspace, and returns an agent's tools.
func gateway(t *testing.T, yaml string, o backends.Options) tools.Tools {
	t.Helper()
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c, err := config.Parse("config.yaml", []byte(strings.ReplaceAll(yaml, "WORKSPACE", workspace)), config.Options{GOOS: "linux"})
	require.NoError(t, err)
	r, err := backends.Open(t.Context(), c, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r.Tools(config.Agent{ID: "scout"})
}

// everyPath calls everything that runs a program, and has each make a file. It returns each call's error, nil for a call
// that was made.
func everyPath(t *testing.T, ts tools.Tools, marker string) map[string]error {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	write := fmt.Sprintf("open(%q, 'a').write('x')\n", marker)
	function := "def mark(*a):\n    " + write
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mark.py"), []byte(function), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(ts.Workspace, "mark.py"), []byte(write), 0o644))
	call := tools.PythonCall{Name: "mark"}
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["shell_exec"] = ts.ShellExec(ctx, tools.ShellArgs{Command: "echo x >> " + marker})
	_, errs["run_script"] = ts.RunScript(ctx, tools.ScriptArgs{Path: "mark.py"})
	_, errs["python_eval"] = ts.PythonEval(ctx, tools.EvalArgs{Code: write})
	_, errs["run_code"] = ts.RunCode(ctx, tools.CodeArgs{Language: "python", Code: write})
	_, errs["python_file"] = ts.PythonFile(ctx, tools.FileArgs{PythonCall: call, File: "mark.py", Base: dir})
	_, errs["inline"] = ts.Inline(ctx, tools.InlineArgs{PythonCall: call, Code: write})
	_, errs["a flow's code"] = ts.Inline(ctx, tools.InlineArgs{PythonCall: call, Code: function, Function: "mark"})
	_, errs["plugin"] = ts.Plugin(ctx, tools.PluginArgs{PythonCall: call, Dir: dir, Handler: "python:mark.py::mark"})
	return errs
}

const onDocker = "runtime: {sandbox: {binary: docker, workspace: WORKSPACE}}\n"

// Where the engine is not there, or does not answer, nothing runs anywhere. On the host every one of the calls would have
// left its mark.
func TestEngineThatIsNotThere(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	onHost := "runtime: {sandbox: {mode: unsandboxed, python_tools: limits, workspace: WORKSPACE}}\nexecutor: {backend: local}\n"
	control := everyPath(t, gateway(t, onHost, backends.Options{}), marker)
	require.Len(t, control, 8)
	for path, err := range control {
		require.NoError(t, err, path)
	}
	marks, err := os.ReadFile(marker)
	require.NoError(t, err)
	require.Len(t, strings.ReplaceAll(string(marks), "\n", ""), len(control), "unconfined every path writes")
	require.NoError(t, os.Remove(marker))

	path := os.Getenv("PATH")
	for name, docker := range map[string]string{
		"no docker":         "",
		"no daemon":         "echo 'Cannot connect to the Docker daemon' >&2; exit 1",
		"daemon that lies":  "exit 0",
		"docker that exits": "exit 125",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			if docker != "" {
				script := "#!/bin/sh\nPATH=" + path + "\n" + docker + "\n"
				require.NoError(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755))
			}
			for path, err := range everyPath(t, gateway(t, onDocker, backends.Options{}), marker) {
				assert.True(t, tools.Final(err), "%s: %v", path, err)
				assert.ErrorIs(t, err, sandbox.ErrUnavailable, path)
			}
			assert.NoFileExists(t, marker)
		})
	}
}

// What the operator chose for all runs everything that has no wish of its own: no path goes round it.
func TestEveryPathRunsOnTheChosenBackend(t *testing.T) {
	docker := fake.New()
	docker.BackendName, docker.Handler = "docker", func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }
	opened := 0
	o := backends.Options{Open: func(_ context.Context, name string, _ backends.Config) (sandbox.Backend, error) {
		opened++
		assert.Equal(t, "docker", name)
		return docker, nil
	}}
	yaml := onDocker + "executor: {backend: docker}\n"
	yaml = strings.Replace(yaml, "{sandbox:", "{python_bin: /usr/bin/python3, sandbox:", 1)
	marker := filepath.Join(t.TempDir(), "marker")
	for path, err := range everyPath(t, gateway(t, yaml, o), marker) {
		assert.NoError(t, err, path)
	}
	assert.NoFileExists(t, marker)
	assert.Positive(t, opened)
	calls := docker.Calls()
	require.Len(t, calls, 8)
	for _, c := range calls {
		assert.Equal(t, sandbox.NetworkNone, c.Profile.WithDefaults().Network)
		assert.Empty(t, c.Profile.Interpreters)
		if strings.HasSuffix(c.Command.Argv[0], "python3") {
			assert.Equal(t, "python3", c.Command.Argv[0], "the image's, and no path of the host")
		}
	}
}

// Nothing of a network is given to a call that asks for one which the operator does not grant: neither with it, nor without.
// Where it is granted, the same call is made.
func TestNetworkIsTheOperators(t *testing.T) {
	a := tools.CodeArgs{Language: "python", Code: "print(1)", Network: true}
	b := fake.New()
	b.Handler = func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }
	granted := place{Backend: b, Profile: sandbox.ContainerProfile{Network: "egress"}}
	_, err := toolsAt(t, granted).RunCode(t.Context(), a)
	require.NoError(t, err)
	for name, p := range places(t) {
		_, err := toolsAt(t, p).RunCode(t.Context(), a)
		require.ErrorIs(t, err, sandbox.ErrRefused, name)
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		assert.Equal(t, sandbox.NetNone, typed.Guarantee)
	}
}

// places are the isolating backends that need no engine.
func places(t *testing.T) map[string]place {
	return map[string]place{"native": {Backend: openNative(t)}, "fake": {Backend: fake.New()}}
}

// What a tool of the operator's own interpreter imports is not in an image, and that is the tool's failure.
func TestPackageThatIsNotThere(t *testing.T) {
	onKinds(t, func(t *testing.T, p place) {
		r, err := toolsAt(t, p).Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "t"}, Code: "import no_such_package_at_all"})
		require.NoError(t, err)
		assert.ErrorContains(t, r.Failed(), "ModuleNotFoundError: No module named 'no_such_package_at_all'")
		assert.False(t, tools.Final(r.Failed()))
	})
}

// hostile sets variables that a loader, a shell or Python obeys, and returns the file that a shell which obeys makes.
func hostile(t *testing.T, dir string) string {
	t.Helper()
	marker := filepath.Join(dir, "obeyed")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rc"), []byte("echo x > "+marker+"\n"), 0o644))
	for name, value := range map[string]string{
		"LD_PRELOAD": "/no/such/library.so", "LD_LIBRARY_PATH": dir, "BASH_ENV": filepath.Join(dir, "rc"), "ENV": filepath.Join(dir, "rc"),
		"PYTHONPATH": "/tool/none", "PYTHONSTARTUP": filepath.Join(dir, "rc"), "NOT_NAMED": "sk-0",
	} {
		t.Setenv(name, value)
	}
	bare(t, "", "bash", "-c", ":")
	require.FileExists(t, marker, "a shell obeys")
	require.NoError(t, os.Remove(marker))
	return marker
}

// Variables that a loader or an interpreter obeys reach the tool, and nothing before it.
func TestHostileEnvironment(t *testing.T) {
	dir := library(t)
	onKinds(t, func(t *testing.T, p place) {
		marker := hostile(t, dir)     // after an engine has started, which is no part of the call
		p.Python = "/usr/bin/python3" // the one in the PATH may be a shell script
		ts := toolsAt(t, p)
		ts.Python.Env = []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PYTHONPATH", "PYTHONSTARTUP", "NOT=NAMED", "UNSET"}
		r, err := ts.Inline(t.Context(), tools.InlineArgs{
			PythonCall: tools.PythonCall{Name: "t"}, Code: "import json, os\nprint(json.dumps(dict(os.environ)))",
		})
		require.NoError(t, err)
		require.NoError(t, r.Failed())
		env := map[string]string{}
		require.NoError(t, json.Unmarshal([]byte(r.Output), &env))
		assert.Equal(t, "/no/such/library.so", env["LD_PRELOAD"])
		assert.Equal(t, "/tool/none", env["PYTHONPATH"])
		assert.NotContains(t, env, "NOT_NAMED")
		assert.NotContains(t, env, "UNSET")
		assert.NoFileExists(t, marker, "nothing before the tool was a shell")
	})
}

// Scratch keeps programs from running, and no interpreter from reading: a script on it is not stopped.
func TestScriptOnScratch(t *testing.T) {
	const code = `
import os, shutil, subprocess, tempfile
name = os.path.join(tempfile.gettempdir(), "x%d" % os.getpid())
open(name + ".py", "w").write("print('read')")
print(subprocess.run(["python3", name + ".py"], capture_output=True, text=True).stdout.strip())
shutil.copy("/bin/true", name)
try:
    subprocess.run([name])
    print("ran")
except PermissionError:
    print("refused")
os.remove(name), os.remove(name + ".py")`
	onKinds(t, func(t *testing.T, p place) {
		r, err := toolsAt(t, p).Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "t"}, Code: code})
		require.NoError(t, err)
		want := "read\nrefused"
		if p.OnHost {
			want = "read\nran" // limits are no boundary
		}
		assert.Equal(t, want, r.Text())
	})
}

// Large arguments and a long line pass everywhere; what is kept of a line is bounded, and that is no error.
func TestSizes(t *testing.T) {
	onKinds(t, func(t *testing.T, p place) {
		ts := toolsAt(t, p)
		call := tools.PythonCall{Name: "run", Arguments: json.RawMessage(`{"a": "` + strings.Repeat("x", 10<<20) + `"}`)}
		r, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: call, Function: "run", Code: "def run(a): return len(a['a'])"})
		require.NoError(t, err)
		require.NoError(t, r.Failed())
		assert.Equal(t, "10485760", r.Text())

		code := "# " + strings.Repeat("x", 200<<10) + "\nprint('y' * (16 << 20))"
		r, err = ts.Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "run"}, Code: code})
		require.NoError(t, err)
		require.NoError(t, r.Failed())
		assert.Len(t, r.Output, sandbox.DefaultOutputKB<<10)
		assert.EqualValues(t, 16<<20+1, r.Result.StdoutBytes)
		assert.True(t, strings.HasSuffix(r.Text(), "y\n[output truncated]"))
	})
}
