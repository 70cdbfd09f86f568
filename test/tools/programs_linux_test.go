package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/color"
	"image/png"
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
	"github.com/soulacy/toolcell/test/engines"
)

// functions are tools that are a function in a file, with what each has to return.
func functions() []struct{ name, arguments, want string } {
	return []struct{ name, arguments, want string }{
		{"csv_stats", `{"file": "sales.csv", "group": "region", "value": "amount"}`, `{
			"north": {"count": 3, "sum": "20.00", "mean": "6.67", "median": "7.25", "stdev": 5.018},
			"south": {"count": 2, "sum": "8.00", "mean": "4.00", "median": "4.00", "stdev": 0.9},
			"öst": {"count": 1, "sum": "100", "mean": "100.00", "median": "100", "stdev": 0.0}}`},
		{"json_reshape", `{"orders": [
			{"date": "2026-02-03", "customer": {"name": "Åsa"}, "lines": [{"price": 1.1, "count": 3}, {"price": 2}]},
			{"date": "2026-01-31", "customer": {"name": "Åsa"}, "lines": []},
			{"date": "31.1.2026", "customer": {"name": "Bo"}, "lines": []},
			{"date": "2026-02-28", "customer": {"name": "Åsa"}, "lines": [{"price": 0.2}]},
			{"date": "2026-02-28", "customer": null, "lines": []}]}`, `{"currency": "EUR",
			"customers": [{"name": "Åsa", "months": {"2026-01": 0, "2026-02": 5.5}}],
			"dropped": [{"index": 2, "why": "ValueError"}, {"index": 4, "why": "TypeError"}]}`},
		{"sqlite_report", `{"rows": 5000}`, `{"count": 5000, "total": 25031078, "check": "the check held", "intact": "ok", "files": ["report.db"],
			"best": [["shop 4", 26, 135344], ["shop 0", 6, 134574], ["shop 1", 1, 134192]]}`},
		{"log_regex", `{}`, `{"status": {"2xx": 4, "3xx": 1, "4xx": 1, "5xx": 1}, "paths": [["/user/:id", 3], ["/login", 2]], "p95": 981, "strange": [6]}`},
		{"archive", `{"count": 12}`, `{"bad": null, "unsafe": ["../out.txt"], "found": 12, "packed": 12,
			"sha256": "be9e7a0c8c8fc1a7bd5262ed45b3de90083a87167591cb9be03bbda1a5c3cff3"}`},
		{"pipeline", `{"words": ["b", "a", "c", "a", "b", "a"]}`, `{"counts": [["3", "a"], ["2", "b"], ["1", "c"]], "codes": [0, 0, 0],
			"failing": [3, "before\n", "why\n"], "slow": "it was killed"}`},
		{"pool", `{"upto": 20000, "workers": 3}`, `{"primes": 2262, "finished": [0, 1, 2], "shared": [3, 0, 10, 20], "codes": [0, 0, 0]}`},
		{"async_calls", `{"words": ["a", "b", "ö"]}`, `{"child": "through a child", "answers": ["0cc175b9c0f1b6a831c399e269772661",
			"92eb5ffee6ae2fec3ad71c777531578f", "a172480f4e21d0a124bac19c89569c59", "given up"]}`},
	}
}

// A tool returns in a sandbox what it returns without one, and that is the right answer.
func TestFunctions(t *testing.T) {
	dir := library(t)
	bare := map[string]string{}
	for _, c := range functions() {
		bare[c.name] = bareFunction(t, dir, c.name, c.arguments)
		require.JSONEq(t, c.want, bare[c.name], "%s on this machine", c.name)
	}
	onAll(t, func(t *testing.T, p place) {
		ts := toolsAt(t, p)
		for _, c := range functions() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				r, err := ts.PythonFile(t.Context(), tools.FileArgs{
					PythonCall: tools.PythonCall{Name: c.name, Arguments: json.RawMessage(c.arguments)}, File: c.name + ".py", Base: dir,
				})
				require.NoError(t, err)
				require.NoError(t, r.Failed(), "%s", r.Result.Hints)
				assert.JSONEq(t, c.want, r.Text())
				assert.JSONEq(t, bare[c.name], r.Text(), "as on this machine")
			})
		}
		t.Cleanup(func() {
			assert.Equal(t, entries(t, "testdata"), entries(t, dir), "nothing was written beside the tools")
		})
	})
}

// library is a copy of the programs that every user may read.
func library(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range entries(t, "testdata") {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// bareFunction calls a function on this machine.
func bareFunction(t *testing.T, dir, name, arguments string) string {
	t.Helper()
	code := `import asyncio, importlib, json, sys
sys.path.insert(0, sys.argv[1])
result = getattr(importlib.import_module(sys.argv[2]), sys.argv[2])(**json.load(sys.stdin))
print(json.dumps(asyncio.run(result) if asyncio.iscoroutine(result) else result))`
	out, exit := bare(t, arguments, "python3", "-c", code, dir, name)
	require.Zero(t, exit, out)
	return out
}

// bare runs a program on this machine, in an empty directory, and returns its standard output and exit code.
func bare(t *testing.T, stdin string, argv ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	require.True(t, cmd.ProcessState.Exited(), "%v: %s", err, stderr.String())
	if exit := cmd.ProcessState.ExitCode(); exit != 0 {
		return stdout.String() + stderr.String(), exit
	}
	return stdout.String(), 0
}

// snippets are whole programs for run_code, with what each has to print.
func snippets() []struct {
	language, program, file, stdin, want string
	exit                                 int
} {
	return []struct {
		language, program, file, stdin, want string
		exit                                 int
	}{
		{"node", "node", "words.js", "b a B ä a\nb\n", `{"words":{"b":3,"a":2,"ä":1},"sha256":"771125005e088522","square":144,"child":"CHILD","big":"1267650600228229401496703205376"}` + "\n", 0},
		{"bash", "bash", "report.sh", "one line\n", "apple=5\nfig=1\npear=7\ncommon: fig\ngot USR1\npipefail: 1 0\nbackground ended with 143\nsum 13\n" +
			"copied 4 lines\nstdin: one line\ncleaned up with 7\n", 7},
		{"python", "python3", "chart.py", "", "chart.png: 4 bars, True\n", 0},
	}
}

// A snippet prints in a sandbox what it prints without one.
func TestSnippets(t *testing.T) {
	dir := library(t)
	onAllForCode(t, func(t *testing.T, p place) {
		ts := toolsAt(t, roomy(p))
		for _, c := range snippets() {
			t.Run(c.language, func(t *testing.T) {
				t.Parallel()
				want, exit := bare(t, c.stdin, c.program, filepath.Join(dir, c.file))
				require.Equal(t, c.exit, exit, want)
				code, err := os.ReadFile(filepath.Join(dir, c.file))
				require.NoError(t, err)
				r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: c.language, Code: string(code), Stdin: strings.NewReader(c.stdin)})
				require.NoError(t, err)
				require.Equal(t, sandbox.StatusExited, r.Result.Status, r.Text())
				assert.Equal(t, c.exit, r.Result.ExitCode, r.Text())
				assert.Equal(t, c.want, string(r.Result.Stdout), r.Text())
				assert.Equal(t, want, string(r.Result.Stdout), "as on this machine")
				if c.file == "chart.py" {
					checkChart(t, r.Artifacts)
				}
			})
		}
		t.Cleanup(func() { assert.Empty(t, entries(t, ts.TempDir), "nothing is left") })
	})
}

// A command line works in the workspace, and what it leaves there is the caller's.
func TestShell(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "disk.sh"))
	require.NoError(t, err)
	const stdin = "one\n\ntwo\n"
	const want = "5 squared is 25\n4 squared is 16\n3 squared is 9\n3 4\n2 5\nit failed with 4\nhello, world: in a scratch directory\n2\nremoved: gone\n"
	out, exit := bare(t, stdin, "/bin/sh", "-c", string(script))
	require.Zero(t, exit, out)
	require.Equal(t, want, out, "on this machine")
	onAll(t, func(t *testing.T, p place) {
		ts := inWorkspace(t, p)
		o, err := ts.ShellExec(t.Context(), tools.ShellArgs{Command: string(script), Streams: tools.Streams{Stdin: strings.NewReader(stdin)}})
		require.NoError(t, err)
		assert.Equal(t, want, o.Text())
		kept, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: "kept.txt"})
		require.NoError(t, err)
		assert.Equal(t, stdin, kept.Content)
	})
}

// A script of the workspace is run by what its ending says, and prints what it prints without a sandbox.
func TestScripts(t *testing.T) {
	test := func(t *testing.T, p place) {
		ts := inWorkspace(t, roomy(p))
		for _, c := range snippets()[:2] { // the third is given a directory of its own for its picture
			code, err := os.ReadFile(filepath.Join("testdata", c.file))
			require.NoError(t, err)
			_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: c.file, Content: string(code)})
			require.NoError(t, err)
			o, err := ts.RunScript(t.Context(), tools.ScriptArgs{Path: c.file, Streams: tools.Streams{Stdin: strings.NewReader(c.stdin)}})
			require.NoError(t, err)
			assert.Equal(t, c.exit, o.Result.ExitCode, o.Text())
			assert.Equal(t, c.want, string(o.Result.Stdout), o.Text())
		}
	}
	if engines.Long() {
		onAll(t, test)
		return
	}
	on(t, test)
}

// roomy has room for what node reserves, which is far more than it uses, where a limit counts that.
func roomy(p place) place {
	if p.OnHost {
		p.Profile.Limits.MemoryMB = 64 << 10
	}
	return p
}

// inWorkspace makes tools that run everything at p, with a workspace.
func inWorkspace(t *testing.T, p place) tools.Tools {
	t.Helper()
	ts := toolsAt(t, p)
	ts.Workspace = filepath.Join(ts.TempDir, "workspace")
	require.NoError(t, tools.MakeWorkspace(ts.Workspace))
	return ts
}

// checkChart looks at the picture.
func checkChart(t *testing.T, files []tools.Artifact) {
	t.Helper()
	require.Len(t, files, 1)
	assert.Equal(t, "chart.png", files[0].Name)
	assert.Equal(t, "image/png", files[0].Type)
	assert.True(t, files[0].Image())
	picture, err := png.Decode(bytes.NewReader(files[0].Data))
	require.NoError(t, err)
	assert.Equal(t, 160, picture.Bounds().Dx())
	for at, want := range map[[2]int]color.RGBA{
		{20, 99}: {200, 30, 30, 255}, {20, 60}: {255, 255, 255, 255}, {60, 31}: {30, 160, 60, 255}, {140, 15}: {230, 180, 20, 255}, {0, 99}: {255, 255, 255, 255},
	} {
		assert.Equal(t, want, color.RGBAModel.Convert(picture.At(at[0], at[1])), at)
	}
}

// A call that is given up ends a program that does not want to end, with its child.
func TestCanceled(t *testing.T) {
	code, err := os.ReadFile(filepath.Join("testdata", "long.py"))
	require.NoError(t, err)
	onBackends(t, func(t *testing.T, p place) {
		ts := toolsAt(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		started := startedWriter{func() {
			assert.Eventually(t, func() bool { return len(children(t)) == 1 }, time.Minute, 10*time.Millisecond, "the child is seen while it runs")
			cancel()
		}}
		r, err := ts.RunCode(ctx, tools.CodeArgs{Language: "python", Code: string(code), Timeout: 4 * time.Minute, Stdout: started})
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusCanceled, r.Result.Status)
		assert.Equal(t, "Execution canceled\n\n--- stdout ---\nstarted\n", r.Text())
		assert.Empty(t, children(t), "nothing is left")
		assert.Empty(t, entries(t, ts.TempDir), "nothing is left")
	})
}

// startedWriter calls when something is written.
type startedWriter struct{ call func() }

func (w startedWriter) Write(b []byte) (int, error) {
	w.call()
	return len(b), nil
}

// children are the processes that long.py starts, seen from outside.
func children(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && bytes.HasSuffix(line, []byte("\x00toolcell-long-running-child\x00")) {
			found = append(found, f)
		}
	}
	return found
}
