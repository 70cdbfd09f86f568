package tools_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// venv makes a virtual environment with a module that nothing else has, and returns its interpreter.
func venv(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	dir = filepath.Join(dir, "venv")
	out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--without-pip", dir).CombinedOutput()
	if err != nil {
		conformance.Skip(t, fmt.Sprintf("no virtual environments here: %v: %s", err, out))
	}
	site, err := filepath.Glob(filepath.Join(dir, "lib", "python3*", "site-packages"))
	require.NoError(t, err)
	require.Len(t, site, 1)
	require.NoError(t, os.WriteFile(filepath.Join(site[0], "operators.py"), []byte("X = 'installed'\n"), 0o644))
	return filepath.Join(dir, "bin", "python")
}

// unpacked makes the root of an image whose python3 is no Python, is where the host has none, and says what it is.
func unpacked(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	program, err := os.ReadFile(conformance.Build(t, "github.com/soulacy/toolcell/cmd/toolcell-init"))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr", "local", "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr", "local", "bin", "python3"), program, 0o755))
	return root
}

// ofTheImage is what that program says when a person starts it.
const ofTheImage = "toolcell-init"

// The operator's interpreter runs tools where the image is this machine, under whatever name, and only there.
func TestOperatorsInterpreter(t *testing.T) {
	openNative(t) // skips where it cannot run
	python, root := venv(t), unpacked(t)
	inline := tools.InlineArgs{PythonCall: tools.PythonCall{Name: "t"}, Code: "import operators\nprint(operators.X)"}
	for _, c := range []struct{ bin, executor, want, failure string }{
		{python, "", "installed", ""},
		{python, "docker_image: host", "installed", ""},
		{python, "docker_image: 'python:3.12-slim'", "installed", ""},
		{python, "backend: local", "installed", ""},
		{"/usr/bin/python3", "", "", "No module named 'operators'"},
		{"/usr/bin/python3", "docker_image: unpacked", "", ofTheImage},
		{python, "docker_image: unpacked", "", ofTheImage},
	} {
		yaml := fmt.Sprintf("runtime: {python_bin: %s, sandbox: {images: {'python:3.12-slim': host, unpacked: %s}, python_tools: %s}}\nexecutor: {%s}\n",
			c.bin, root, map[bool]string{true: "limits", false: "container"}[c.executor == "backend: local"], c.executor)
		r, err := gateway(t, yaml, backends.Options{}).Inline(t.Context(), inline)
		require.NoError(t, err, "%s %s", c.bin, c.executor)
		if c.failure != "" {
			assert.ErrorContains(t, r.Failed(), c.failure, "%s %s", c.bin, c.executor)
			continue
		}
		require.NoError(t, r.Failed(), "%s %s", c.bin, c.executor)
		assert.Equal(t, c.want, r.Text(), "%s %s", c.bin, c.executor)
	}
}

// In a container the host's interpreter means nothing, and each language runs in the image that the operator chose for it.
func TestInterpretersOfAContainer(t *testing.T) {
	e := pool.Start(t, engines.Docker)
	e.Setenv(t)
	o := backends.Options{}
	o.Backends.Docker.Helper, o.Backends.Docker.ProbeTimeout = helperProgram(t), time.Minute
	yaml := fmt.Sprintf("runtime: {python_bin: /opt/host/only/python3, sandbox: {binary: %[1]s, run_code: {images: {python: absent:1, node: %[2]s, bash: %[2]s}}}}\n"+
		"executor: {docker_image: %[2]s}\n", e.Binary, e.Load(t, engines.Languages()))
	ts := gateway(t, yaml, o)
	r, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "t"}, Code: "import sys\nprint(sys.executable)"})
	require.NoError(t, err)
	require.NoError(t, r.Failed())
	assert.Equal(t, "/usr/bin/python3", r.Text())
	for language, c := range map[string]struct{ code, want string }{
		"JavaScript": {"console.log(process.execPath, process.argv[1], require('os').userInfo().uid > 0)", "/usr/bin/node /code/main.js true\n"},
		"sh":         {`echo "$BASH ${BASH_VERSION%%.*} $0 $((UID > 0))"`, "/bin/bash 5 /code/main.sh 1\n"},
	} {
		r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: language, Code: c.code})
		require.NoError(t, err, language)
		assert.Equal(t, "docker", r.Result.Backend)
		assert.Equal(t, c.want, string(r.Result.Stdout), r.Text())
	}
	_, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "print(1)"})
	assert.ErrorIs(t, err, sandbox.ErrUnavailable, "its image is another, which is not there")
}

// What the operator and the agent wrote down holds: the directories of tools, and the names of variables.
func TestRulesOfTheConfiguration(t *testing.T) {
	openNative(t)
	dir := library(t)
	ts := gateway(t, "runtime: {allowed_tool_dirs: ["+t.TempDir()+"]}", backends.Options{})
	call := tools.PythonCall{Name: "log_regex"}
	_, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: "log_regex.py", Base: dir})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	assert.ErrorContains(t, err, "allowed_tool_dirs")
	ts = gateway(t, "runtime: {allowed_tool_dirs: ["+dir+"]}", backends.Options{})
	r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: "log_regex.py", Base: dir})
	require.NoError(t, err)
	assert.NoError(t, r.Failed())
}
