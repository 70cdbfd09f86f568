package tools_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// Real tools under the real backend.
func TestPythonNative(t *testing.T) {
	b := nativeBackend(t)
	for name, test := range map[string]func(*testing.T, tools.Tools){
		"file": nativeFile, "contract": nativeContract, "failures": nativeFailures, "progress": nativeProgress,
		"environment": nativeEnvironment, "size": nativeSize, "plugin": nativePlugin, "removed": nativeRemoved,
		"venv": func(t *testing.T, ts tools.Tools) { nativeVenv(t, ts, b) },
	} {
		t.Run(name, func(t *testing.T) {
			ts := set(t, b)
			ts.Workspace = ""
			test(t, ts)
			assert.Empty(t, names(t, ts.TempDir), "nothing is left")
		})
	}
}

func call(t *testing.T, ts tools.Tools, file, name, arguments string) tools.PythonResult {
	t.Helper()
	r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: named(name, arguments), File: file})
	require.NoError(t, err)
	return r
}

// A tool has its directory beside it, and can change nothing there. The same code can, without the sandbox.
func nativeFile(t *testing.T, ts tools.Tools) {
	dir := toolDir(t, "a.py", `
import b, json, os
import calendar
def a(write):
    try:
        open(os.path.join(os.path.dirname(__file__), write), "w").close()
        wrote = "wrote"
    except OSError as e:
        wrote = e.strerror
    data = json.load(open(os.path.dirname(__file__) + "/data.json"))
    return {"sibling": b.X, "data": data, "wrote": wrote, "cwd": os.getcwd(), "home": os.environ["HOME"],
            "tmp": os.environ["TMPDIR"], "file": __file__, "calendar": hasattr(calendar, "monthrange")}
`)
	write(t, dir, "b.py", "X = 7\n")
	write(t, dir, "calendar.py", "raise SystemExit('a tool of that name is not the module')\n")
	write(t, dir, "data.json", `{"k": [1, 2]}`)
	r := call(t, ts, filepath.Join(dir, "a.py"), "a", `{"write": "x"}`)
	assert.JSONEq(t, `{"sibling": 7, "data": {"k": [1, 2]}, "wrote": "Read-only file system", "cwd": "/tmp", "home": "/tmp",
		"tmp": "/tmp", "file": "/tool/a.py", "calendar": true}`, r.Text())
	assert.Equal(t, []string{"a.py", "b.py", "calendar.py", "data.json"}, names(t, dir), "no __pycache__")

	python := "import sys; sys.path.insert(0, '.'); import b; open('x', 'w')"
	control := exec.Command("python3", "-c", python)
	control.Dir, control.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	require.NoError(t, control.Run())
	assert.Contains(t, names(t, dir), "x", "unconfined it is written")
	assert.Contains(t, names(t, dir), "__pycache__", "unconfined it is written")
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
}

// What is returned is the result; what is written anywhere else is log.
func nativeContract(t *testing.T, ts tools.Tools) {
	file := filepath.Join(toolDir(t, "c.py", `
import asyncio, ctypes, dataclasses, multiprocessing, os, pickle, subprocess, sys
@dataclasses.dataclass
class Point:
    x: int
def echo(**k): return k
def string(): return " é\n"
def lone(): return "\udcff|\ud800"
def names(): return os.fsdecode(b"a\xff")
def none(): return None
def noise():
    print("printed"); os.write(1, b"raw\n"); subprocess.run(["echo", "child"])
    ctypes.CDLL(None).puts(b"from C"); ctypes.CDLL(None).fflush(None)
    return [1]
async def later():
    await asyncio.sleep(0)
    return {"later": True}
def square(n): return n * n
def pool():
    with multiprocessing.get_context("spawn").Pool(2) as p:
        return p.map(square, range(5))
def pickled(): return pickle.loads(pickle.dumps(Point(3))).x
def stdin(): return repr(sys.stdin.read())
def chatter():
    read, write = os.pipe2(os.O_DIRECT) # each write is a packet
    kept, _ = os.dup(1), os.dup2(write, 1)
    print("a", 1, None)
    os.dup2(kept, 1)
    return os.read(read, 100).decode()
`), "c.py")
	for _, c := range []struct{ function, arguments, want string }{
		{"echo", `{"a": "é\u0000", "b": [1.5, null, true], "self": {}}`, `{"a": "\u00e9\u0000", "b": [1.5, null, true], "self": {}}`},
		{"echo", ``, `{}`},
		{"string", `{}`, "é"},
		{"lone", `{}`, "?|?"},
		{"names", `{}`, "a\uFFFD"},
		{"none", `{}`, "null"},
		{"noise", `{}`, "[1]"},
		{"later", `{}`, `{"later": true}`},
		{"pool", `{}`, `[0, 1, 4, 9, 16]`},
		{"pickled", `{}`, `3`},
		{"stdin", `{}`, `''`},
		{"chatter", `{}`, `a 1 None`},
	} {
		r := call(t, ts, file, c.function, c.arguments)
		assert.Equal(t, c.want, r.Text(), c.function)
		if c.function == "noise" {
			for _, line := range []string{"printed\n", "raw\n", "child\n", "from C\n"} {
				assert.Contains(t, string(r.Result.Stderr), line)
			}
			assert.Equal(t, "[1]", string(r.Result.Stdout))
		}
	}
	for _, c := range []struct{ code, function, want string }{
		{"import json, sys\nprint(json.load(sys.stdin)['n'] + 1)", "", "8"},
		{"def run(a):\n    print('log')\n    return {'n': a['n'], 'x': [null, true, false]}", "run", `{"n": 7, "x": [null, true, false]}`},
	} {
		r, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("i", `{"n": 7}`), Code: c.code, Function: c.function})
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Text())
	}
}

// A tool that fails is a result, and says why.
func nativeFailures(t *testing.T, ts tools.Tools) {
	file := filepath.Join(toolDir(t, "f.py", `
import os, sys
def error(): raise ValueError("what went wrong")
def leave(code): sys.exit(code)
def wants(city): return city
def strange(): return object()
def killed(): os.kill(os.getpid(), 9)
value = 3
`), "f.py")
	for _, c := range []struct{ function, arguments, want string }{
		{"error", `{}`, "ValueError: what went wrong"},
		{"leave", `{"code": 125}`, "tool execution failed (exit status 125)"},
		{"wants", `{"town": 1}`, "unexpected keyword argument 'town'"},
		{"strange", `{}`, "Object of type object is not JSON serializable"},
		{"killed", `{}`, "tool execution failed (signal SIGKILL)"},
		{"value", `{}`, "f.py has no function value"},
		{"missing", `{}`, "f.py has no function missing"},
	} {
		r := call(t, ts, file, c.function, c.arguments)
		assert.ErrorContains(t, r.Failed(), c.want, c.function)
		assert.Contains(t, r.Text(), c.want)
		assert.Empty(t, r.Output)
	}
	broken := filepath.Join(toolDir(t, "s.py", "def s(:\n"), "s.py")
	assert.ErrorContains(t, call(t, ts, broken, "s", "").Failed(), "SyntaxError")

	a := tools.InlineArgs{PythonCall: named("t", ""), Code: "import time\nprint('half')\ntime.sleep(60)"}
	a.Timeout = time.Second
	r, err := ts.Inline(t.Context(), a)
	require.NoError(t, err)
	assert.EqualError(t, r.Failed(), "tool execution failed (timed out after 1s)")
	assert.Equal(t, "half", r.Output)
}

// Progress and log come while the tool runs: it does not go on before it was seen.
func nativeProgress(t *testing.T, ts tools.Tools) {
	dir := toolDir(t, "p.py", `
import os, time, sys
def p(wait):
    print('{"type": "progress", "percent": 50, "status": "half"}')
    print("log line", file=sys.stderr)
    while not all(os.path.exists("/tool/" + w) for w in wait):
        time.sleep(0.01)
    return "done"
`)
	call := named("p", `{"wait": ["progress", "log"]}`)
	call.Progress = func(p tools.Progress) {
		assert.Equal(t, tools.Progress{Percent: 50, Status: "half"}, p)
		write(t, dir, "progress", "")
	}
	call.Log = func(line string) {
		assert.Equal(t, "log line", line)
		write(t, dir, "log", "")
	}
	r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: "p.py", Base: dir})
	require.NoError(t, err)
	assert.Equal(t, "done", r.Text())
	assert.Equal(t, "log line\n", string(r.Result.Stderr))
}

// The agent's variables reach the tool and nothing before it, and no command line.
func nativeEnvironment(t *testing.T, ts tools.Tools) {
	const secret = "the-value-that-nobody-else-sees"
	t.Setenv("TOOL_SECRET", secret)
	t.Setenv("GATEWAY_KEY", "sk-other")
	t.Setenv("LD_PRELOAD", "/nowhere/preload.so")
	t.Setenv("PYTHONPATH", "/tool/more")
	ts.Python.Env = []string{"TOOL_SECRET", "UNSET_VARIABLE", "LD_PRELOAD", "PYTHONPATH"}
	dir := toolDir(t, "more/extra.py", "X = 'from PYTHONPATH'")
	write(t, dir, "e.py", `
import os, time
def e():
    import extra
    print('{"type": "progress"}')
    while not os.path.exists("/tool/seen"):
        time.sleep(0.01)
    return dict(os.environ, extra=extra.X)
`)
	call := named("e", "")
	call.Progress = func(tools.Progress) {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		found := 0
		for _, f := range lines {
			line, err := os.ReadFile(f)
			if err == nil {
				assert.NotContains(t, string(line), secret)
				found += bytes.Count(line, []byte("/tool/e.py"))
			}
		}
		assert.Positive(t, found, "the tool's own command line is among them")
		write(t, dir, "seen", "")
	}
	r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: "e.py", Base: dir})
	require.NoError(t, err)
	var env map[string]string
	require.NoError(t, json.Unmarshal([]byte(r.Text()), &env), r.Text())
	assert.Equal(t, secret, env["TOOL_SECRET"])
	assert.Equal(t, "/nowhere/preload.so", env["LD_PRELOAD"])
	assert.Equal(t, "from PYTHONPATH", env["extra"])
	assert.NotContains(t, env, "GATEWAY_KEY")
	assert.NotContains(t, env, "UNSET_VARIABLE")
	assert.Contains(t, string(r.Result.Stderr), "preload.so", "the loader of the tool reads it")
}

// No line is too long, and what is kept is bounded.
func nativeSize(t *testing.T, ts tools.Tools) {
	a := tools.InlineArgs{PythonCall: named("s", ""), Code: "print('x' * (16 << 20))"}
	lines := 0
	a.Log = func(string) { lines++ }
	r, err := ts.Inline(t.Context(), a)
	require.NoError(t, err)
	require.NoError(t, r.Failed())
	assert.True(t, r.Result.StdoutTruncated)
	assert.Len(t, r.Output, sandbox.DefaultOutputKB<<10)
	assert.True(t, strings.HasSuffix(r.Text(), "x\n[output truncated]"))

	limits := sandbox.Limits{OutputKB: 32 << 10}
	chooser := ts.Chooser
	ts.Chooser = choose(func(q tools.Request) (tools.Place, error) {
		p, err := chooser.Choose(t.Context(), q)
		p.Profile.Limits = limits
		return p, err
	})
	a.Code += "\nimport sys\nprint('y' * (100 << 10), file=sys.stderr)"
	r, err = ts.Inline(t.Context(), a)
	require.NoError(t, err)
	assert.Len(t, r.Text(), 16<<20)
	assert.Equal(t, 2, lines)

	big := `{"a": "` + strings.Repeat("x", 10<<20) + `"}`
	file := filepath.Join(toolDir(t, "n.py", "def n(a): return len(a)"), "n.py")
	assert.Equal(t, "10485760", call(t, ts, file, "n", big).Text())

	code := "def run(a): return len('" + strings.Repeat("x", 200<<10) + "')"
	r, err = ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("s", ""), Code: code, Function: "run"})
	require.NoError(t, err)
	assert.Equal(t, "204800", r.Text())
}

func nativePlugin(t *testing.T, ts tools.Tools) {
	dir := toolDir(t, "src/tool.py", "import helper, shared\ndef run(n):\n    return n + helper.ONE + shared.TEN")
	write(t, dir, "src/helper.py", "ONE = 1")
	write(t, dir, "shared.py", "TEN = 10")
	a := tools.PluginArgs{PythonCall: named("plugin__p__run", `{"n": 5}`), Dir: dir, Handler: "python:src/tool.py::run"}
	r, err := ts.Plugin(t.Context(), a)
	require.NoError(t, err)
	assert.Equal(t, "16", r.Text())
	a.Handler, a.Arguments = "python:src/tool.py::run", nil
	r, err = ts.Plugin(t.Context(), a)
	require.NoError(t, err)
	assert.ErrorContains(t, r.Failed(), "TypeError: run() missing 1 required positional argument: 'n'", "stderr is kept")
}

// A file that goes after it was looked at is a failure that says so; a directory that goes refuses the call.
func nativeRemoved(t *testing.T, ts tools.Tools) {
	chooser := ts.Chooser
	for what, c := range map[string]struct {
		remove func(dir string) error
		want   string
	}{
		"file":      {func(dir string) error { return os.Remove(filepath.Join(dir, "g.py")) }, "No such file or directory: '/tool/g.py'"},
		"directory": {os.RemoveAll, "no such file or directory"},
		"swapped": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.Symlink(dir+".old", dir))
		}, ""},
	} {
		dir := toolDir(t, "d/g.py", "def g(): return 1")
		dir = filepath.Join(dir, "d")
		b := &between{Backend: nil, before: func() { require.NoError(t, c.remove(dir)) }}
		ts.Chooser = choose(func(q tools.Request) (tools.Place, error) {
			p, err := chooser.Choose(t.Context(), q)
			b.Backend, p.Backend = p.Backend, b
			return p, err
		})
		r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: named("g", ""), File: filepath.Join(dir, "g.py")})
		if what == "file" {
			require.NoError(t, err)
			err = r.Failed()
		} else {
			assert.True(t, tools.Final(err), "%s: %v", what, err)
		}
		require.Error(t, err, what)
		assert.ErrorContains(t, err, c.want, what)
	}
}

// The operator's virtual environment is there under native, and nothing of it without being named.
func nativeVenv(t *testing.T, ts tools.Tools, b sandbox.Backend) {
	dir := realTemp(t)
	out, err := exec.Command("python3", "-m", "venv", "--without-pip", filepath.Join(dir, "venv")).CombinedOutput()
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skipf("no virtual environments here: %s", out)
	}
	require.NoError(t, err, "%s", out)
	site, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "python3*", "site-packages"))
	require.NoError(t, err)
	require.Len(t, site, 1)
	write(t, site[0], "operators.py", "X = 'installed'")
	file := filepath.Join(toolDir(t, "v.py", "import operators, sys\ndef v(): return operators.X"), "v.py")

	assert.ErrorContains(t, call(t, ts, file, "v", "").Failed(), "ModuleNotFoundError: No module named 'operators'")
	ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
		return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Interpreters: []string{filepath.Join(dir, "venv", "bin", "python")}}}, nil
	})
	assert.Equal(t, "installed", call(t, ts, file, "v", "").Text())
	write := filepath.Join(toolDir(t, "w.py", "import os, operators\ndef w(): open(os.path.dirname(operators.__file__) + '/x', 'w')"), "w.py")
	assert.ErrorContains(t, call(t, ts, write, "w", "").Failed(), "Read-only file system")
}
