package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// nativeBackend opens the real backend, with its spawner built for the test.
func nativeBackend(t *testing.T) sandbox.Backend {
	t.Helper()
	spawner := filepath.Join(t.TempDir(), "toolcell-init")
	build := exec.Command("go", "build", "-o", spawner, "github.com/soulacy/toolcell/cmd/toolcell-init")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := native.Open(t.Context(), native.Config{Spawner: spawner})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, b.Close()) })
		_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	}
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skipf("this host cannot keep every guarantee: %v", err)
	}
	require.NoError(t, err)
	return b
}

// Real programs, not a script's replies.
func TestNative(t *testing.T) {
	ts := set(t, nativeBackend(t))
	t.Run("run_code", func(t *testing.T) { nativeRunCode(t, ts) })
	t.Run("builtins", func(t *testing.T) { nativeBuiltins(t, ts) })
}

// What one tool writes the next one runs, and what a program leaves a tool reads.
func nativeBuiltins(t *testing.T, ts tools.Tools) {
	ts.Workspace = filepath.Join(ts.Workspace, "data", "sandbox")
	require.NoError(t, tools.MakeWorkspace(ts.Workspace))
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "src/a.py", Content: "import sys; print(sys.argv[1:]); open('left', 'w').write('x')"})
	require.NoError(t, err)
	o, err := ts.RunScript(t.Context(), tools.ScriptArgs{Path: "/workspace/src/a.py", Args: []string{"-v", ""}})
	require.NoError(t, err)
	assert.Equal(t, "['-v', '']\n", o.Text())
	assert.FileExists(t, filepath.Join(ts.Workspace, "src", "left"))
	_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: "src/left", Content: "replaced"})
	require.NoError(t, err)

	o, err = ts.ShellExec(t.Context(), tools.ShellArgs{Command: "pwd; echo more >> left; cat left; exit 4", WorkingDir: "src"})
	require.NoError(t, err)
	assert.Equal(t, "exit_code: 4\n/workspace/src\nreplacedmore\n", o.Text())

	o, err = ts.ShellExec(t.Context(), tools.ShellArgs{Command: "chmod 0 /workspace && echo closed"})
	require.NoError(t, err)
	assert.Equal(t, "closed\n", o.Text())

	o, err = ts.ShellExec(t.Context(), tools.ShellArgs{Command: "sleep 60", Timeout: time.Second})
	require.NoError(t, err)
	assert.Contains(t, o.Text(), "error: timed out after 1s\n")

	o, err = ts.PythonEval(t.Context(), tools.EvalArgs{Code: "import os; print(os.getcwd(), sorted(os.listdir()))"})
	require.NoError(t, err)
	assert.Equal(t, "/workspace ['src']\n", o.Text())

	c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "/workspace/src/left"})
	require.NoError(t, err)
	assert.Equal(t, "replacedmore\n", c.Content)

	o, err = ts.ShellExec(t.Context(), tools.ShellArgs{Command: "mkfifo src/pipe; ln -s /etc/passwd src/link; yes | head -c 100000"})
	require.NoError(t, err)
	assert.True(t, o.Result.StdoutTruncated)
	assert.Len(t, o.Result.Stdout, tools.MaxOutput)
	for _, name := range []string{"src/pipe", "src/link"} {
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: name})
		assert.True(t, tools.Final(err), name)
	}
}

func nativeRunCode(t *testing.T, ts tools.Tools) {
	for name, c := range map[string]struct {
		args tools.CodeArgs
		want string
	}{
		"python": {tools.CodeArgs{Language: "py", Code: "print(2 + 2)"}, "Exit code: 0\n\n--- stdout ---\n4\n"},
		"node":   {tools.CodeArgs{Language: "js", Code: "console.log([1,2].map(x => x * 2).join())"}, "Exit code: 0\n\n--- stdout ---\n2,4\n"},
		"bash":   {tools.CodeArgs{Language: "sh", Code: "cat\necho after >&2\nexit 3"}, "Exit code: 3\n\n--- stderr ---\nafter\n"},
		"stdin": {tools.CodeArgs{Language: "py", Code: "import sys; print(sys.stdin.read()[::-1])", Stdin: strings.NewReader("abc")},
			"Exit code: 0\n\n--- stdout ---\ncba\n"},
		"nothing": {tools.CodeArgs{Language: "py", Code: "pass"}, "Exit code: 0\n\n(no output)\n"},
		"timeout": {tools.CodeArgs{Language: "py", Code: "import time; print('half'); time.sleep(60)", Timeout: time.Second},
			"Execution timed out after 1s\n\n--- stdout ---\nhalf\n"},
		"survivors": {tools.CodeArgs{Language: "sh", Code: "sleep 999 & echo hi"}, "Exit code: 0\n\n--- stdout ---\nhi\n"},
		"125":       {tools.CodeArgs{Language: "sh", Code: "exit 125"}, "Exit code: 125\n\n(no output)\n"},
		"signal":    {tools.CodeArgs{Language: "sh", Code: "kill -SEGV $$"}, "Exit code: 139\n\n(no output)\n"},
		"code cannot be changed": {tools.CodeArgs{Language: "sh", Code: "echo x >> /code/main.sh; echo $?"},
			"Exit code: 0\n\n--- stdout ---\n1\n\n--- stderr ---\n/code/main.sh: line 1: /code/main.sh: Read-only file system\n"},
	} {
		r, err := ts.RunCode(t.Context(), c.args)
		require.NoError(t, err, name)
		text, _, _ := strings.Cut(r.Text(), "\n--- hints ---\n")
		assert.Equal(t, c.want, text, name)
	}
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")

	r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "x = bytearray(2 << 30)"})
	require.NoError(t, err)
	assert.Contains(t, r.Text(), "Execution stopped: out of memory at 512 MB\n")

	r, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "print('é' * (2 << 20))"})
	require.NoError(t, err)
	assert.True(t, r.Result.StdoutTruncated)
	assert.Contains(t, r.Text(), "é\n[output truncated]\n")

	r, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: `
import os, base64
open("dot.png", "wb").write(base64.b64decode("` + dot + `"))
os.makedirs("a/b")
open(os.environ["OUTPUT_DIR"] + "/a/b/t.csv", "w").write("1,2\n")
os.symlink("/etc/passwd", "link")
os.mkfifo("pipe")
os.mkdir("closed", 0)
`})
	require.NoError(t, err)
	assert.Equal(t, 0, r.Result.ExitCode, r.Text())
	require.Len(t, r.Artifacts, 2, r.Text())
	assert.Equal(t, "a/b/t.csv", r.Artifacts[0].Name)
	assert.True(t, r.Artifacts[1].Image())
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")

	ts.Artifacts.DiskBytes = 8 << 20
	r, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: `
import time
for i in range(12):
    open(str(i), "wb").write(bytes(1 << 20))
time.sleep(60)
`})
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, r.Result.Status)
	assert.Contains(t, r.Text(), "Execution stopped: the output directory is full: more than 8 MB\n")
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")

	_, err = ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: "print(1)", Network: true})
	assert.ErrorIs(t, err, sandbox.ErrRefused)
}
