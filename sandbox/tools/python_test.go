package tools_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// toolDir is a directory with a tool in it, by a path without links.
func toolDir(t *testing.T, name, code string) string {
	t.Helper()
	dir := realTemp(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(code), 0o644))
	return dir
}

func named(name, arguments string) tools.PythonCall {
	return tools.PythonCall{Name: name, Arguments: json.RawMessage(arguments)}
}

// What a file tool asks of its place, and what it hands to the backend.
func TestPythonFileCommand(t *testing.T) {
	b := fake.New(fake.Exit(0, " {\"a\": 1}\n", ""))
	ts := set(t, b)
	var asked tools.Request
	ts.Agent = "scout"
	ts.Chooser = choose(func(r tools.Request) (tools.Place, error) {
		asked = r
		return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Network: "tools"}}, nil
	})
	dir := toolDir(t, "weather.py", "def weather(city): ...")
	secret := "value-of-the-secret"
	ts.Python.Env = []string{"FOO", "BAR=1", "A B", "", "UNSET", "FOO", "PATH", "HOME", "TMPDIR", "LD_PRELOAD"}
	ts.Python.LookupEnv = func(name string) (string, bool) { return secret, name != "UNSET" }
	r, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: named("weather", `{"city": "Oslo"}`), File: "weather.py", Base: dir})
	require.NoError(t, err)
	assert.Equal(t, `{"a": 1}`, r.Output)
	assert.Equal(t, `{"a": 1}`, r.Text())
	assert.NoError(t, r.Failed())
	assert.Equal(t, tools.Request{Tool: tools.NamePythonFile, Agent: "scout"}, asked)

	c := b.Calls()[0]
	assert.Equal(t, `{"city": "Oslo"}`, string(c.Stdin))
	assert.Equal(t, []sandbox.Mount{{Source: dir, Target: "/tool", Exec: true}}, c.Profile.Binds, "read-only")
	assert.Equal(t, "tools", c.Profile.Network, "the operator's word, that no call has to repeat")
	assert.Equal(t, []string{"python3", "-c"}, c.Command.Argv[:2])
	assert.Equal(t, []string{"python_file", "/tool/weather.py", "weather", "/tool"}, c.Command.Argv[3:])
	assert.Equal(t, []string{
		"FOO=" + secret, "LD_PRELOAD=" + secret,
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8", "HOME=/tmp", "TMPDIR=/tmp",
	}, c.Command.Env)
	assert.NotContains(t, strings.Join(c.Command.Argv, " "), secret)
	assert.Equal(t, "/tmp", c.Profile.WithDefaults().Workdir)
	assert.Empty(t, c.Command.Dir)
}

func TestPythonInlineCommand(t *testing.T) {
	code := "print(1)  # " + strings.Repeat("x", 200<<10)
	var staged, dir string
	b := fake.New()
	b.Handler = func(c fake.Call) fake.Reply {
		dir = source(t, c, "/code")
		data, err := os.ReadFile(filepath.Join(dir, "main.py"))
		require.NoError(t, err)
		staged = string(data)
		return fake.Exit(0, "1\n", "")
	}
	ts := set(t, b)
	_, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("sum", ""), Code: code})
	require.NoError(t, err)
	c := b.Calls()[0]
	assert.Equal(t, []string{"python3", "/code/main.py"}, c.Command.Argv)
	assert.Equal(t, "{}", string(c.Stdin), "no arguments are an empty object")
	assert.Equal(t, code, staged)
	assert.NoDirExists(t, dir, "nothing is left")

	_, err = ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("sum", "{}"), Code: code, Function: "run"})
	require.NoError(t, err)
	assert.Equal(t, []string{"inline", "/code/main.py", "run", "/code"}, b.Calls()[1].Command.Argv[3:])
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")
}

func TestPythonPluginCommand(t *testing.T) {
	dir := toolDir(t, "src/tool.py", "def run(): ...")
	for _, handler := range []string{"python:src/tool.py::run", "python:./src/../src/tool.py::run", "python:" + dir + "/src/tool.py::run"} {
		b := fake.New(fake.Exit(0, "", ""))
		_, err := set(t, b).Plugin(t.Context(), tools.PluginArgs{PythonCall: named("plugin__p__run", ""), Dir: dir, Handler: handler})
		require.NoError(t, err, handler)
		c := b.Calls()[0]
		assert.Equal(t, dir, source(t, c, "/tool"))
		assert.Equal(t, []string{"plugin", "/tool/src/tool.py", "run", "/tool/src", "/tool"}, c.Command.Argv[3:])
	}
}

// On the host nothing is mounted, so that every path is the host's, and HOME is what it is.
func TestPythonOnHost(t *testing.T) {
	dir := toolDir(t, "a.py", "def a(): ...")
	for _, python := range []string{"", "/opt/venv/bin/python"} {
		b := fake.New(fake.Exit(0, "", ""), fake.Exit(0, "", ""))
		ts := set(t, b)
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: b, OnHost: true, Python: python}, nil
		})
		ts.Python = tools.PythonRules{Env: []string{"PATH"}, LookupEnv: func(string) (string, bool) { return "x", true }}
		_, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: named("a", ""), File: filepath.Join(dir, "a.py")})
		require.NoError(t, err)
		_, err = ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"})
		require.NoError(t, err)
		c := b.Calls()[0]
		assert.Equal(t, []string{"python_file", filepath.Join(dir, "a.py"), "a", dir}, c.Command.Argv[3:])
		want := python
		if want == "" {
			want = "python3"
		}
		assert.Equal(t, want, c.Command.Argv[0])
		assert.Empty(t, c.Profile.Binds)
		assert.Equal(t, []string{"PATH=x", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8"}, c.Command.Env)
		assert.Equal(t, ts.TempDir, filepath.Dir(filepath.Dir(filepath.Dir(b.Calls()[1].Command.Argv[1]))))
	}
}

// The host's interpreter is only used where the image is the host.
func TestPythonInterpreter(t *testing.T) {
	for image, want := range map[string]string{"": "/opt/venv/bin/python", "host": "/opt/venv/bin/python", "python:3.12-slim": "python3"} {
		b := fake.New(fake.Exit(0, "", ""))
		ts := set(t, b)
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			p := sandbox.ContainerProfile{Image: image, Interpreters: []string{"/opt/venv/bin/python"}}
			return tools.Place{Backend: b, Profile: p, Python: "/usr/bin/python3"}, nil
		})
		_, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"})
		require.NoError(t, err)
		assert.Equal(t, want, b.Calls()[0].Command.Argv[0], image)
	}
}

func TestPythonTimeout(t *testing.T) {
	for _, c := range []struct{ tool, place, operator, want time.Duration }{
		{0, 0, 0, time.Minute},
		{0, 2 * time.Minute, 0, 2 * time.Minute},
		{-time.Second, 2 * time.Minute, 0, 2 * time.Minute},
		{time.Second, 2 * time.Minute, 0, time.Second},
		{time.Hour, 2 * time.Minute, 0, time.Hour},
		{time.Hour, 2 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{100 * time.Hour, 0, 0, 24 * time.Hour},
	} {
		b := fake.New(fake.Reply{Result: sandbox.Result{Status: sandbox.StatusTimeout}})
		ts := set(t, b)
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
			return tools.Place{Backend: b, MaxTimeout: c.operator, Profile: sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: c.place}}}, nil
		})
		a := tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"}
		a.Timeout = c.tool
		r, err := ts.Inline(t.Context(), a)
		require.NoError(t, err)
		assert.Equal(t, c.want, b.Calls()[0].Command.Timeout)
		assert.EqualError(t, r.Failed(), "tool execution failed (timed out after "+c.want.String()+")")
	}
}

func TestPythonFailed(t *testing.T) {
	long := "begin" + strings.Repeat("é\n", 4000)
	for _, c := range []struct {
		reply fake.Reply
		want  string
	}{
		{fake.Exit(1, "", "ValueError: x\n"), "tool execution failed (exit status 1): ValueError: x"},
		{fake.Exit(125, "out", ""), "tool execution failed (exit status 125)"},
		{fake.Exit(1, "", long), "tool execution failed (exit status 1): " + strings.TrimSpace(strings.Repeat("é\n", 1334)[2:])},
		{ended(sandbox.StatusOOM, ""), "tool execution failed (out of memory at 512 MB)"},
		{ended(sandbox.StatusCPUTimeout, ""), "tool execution failed (the CPU time is used up)"},
		{ended(sandbox.StatusFileSize, ""), "tool execution failed (a file grew too large)"},
		{ended(sandbox.StatusCanceled, ""), "tool execution failed (canceled)"},
		{fake.Reply{Result: sandbox.Result{Status: sandbox.StatusSignaled, Signal: "SIGSEGV", SignalNumber: 11}}, "tool execution failed (signal SIGSEGV)"},
	} {
		r, err := set(t, fake.New(c.reply)).Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"})
		require.NoError(t, err)
		var f *tools.Failure
		require.ErrorAs(t, r.Failed(), &f)
		assert.LessOrEqual(t, len(f.Detail), 4000)
		assert.Equal(t, c.want, f.Error())
		assert.Equal(t, c.want, r.Text())
		assert.False(t, tools.Final(f), "it may help to try again")
	}
	reply := fake.Exit(1, "", "OSError")
	reply.Result.Hints = []string{"the network is off"}
	r, err := set(t, fake.New(reply)).Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"})
	require.NoError(t, err)
	assert.Equal(t, "tool execution failed (exit status 1): OSError\n--- hints ---\nthe network is off", r.Text())

	reply = fake.Exit(0, "[1, 2", "")
	reply.Result.StdoutBytes = 99
	r, err = set(t, fake.New(reply)).Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: "pass"})
	require.NoError(t, err)
	assert.NoError(t, r.Failed())
	assert.Equal(t, "[1, 2\n[output truncated]", r.Text())
}

// What cannot be meant is an error before anything is asked of anybody, and trying again is never of use.
func TestPythonBadCalls(t *testing.T) {
	dir := toolDir(t, "tool.py", "def tool(): ...")
	file := filepath.Join(dir, "tool.py")
	deep := strings.Repeat("[", 20000)
	for _, c := range []struct {
		name string
		call func(ts tools.Tools) (tools.PythonResult, error)
		want string
	}{
		{"not JSON", fileCall(t, file, "tool", "city=Oslo"), `tool "tool": arguments: not a JSON object`},
		{"broken JSON", fileCall(t, file, "tool", `{"a": `), `tool "tool": arguments: unexpected end of JSON input`},
		{"NaN", fileCall(t, file, "tool", `{"a": NaN}`), `tool "tool": arguments: invalid character 'N' looking for beginning of value`},
		{"a list", fileCall(t, file, "tool", `[1]`), `tool "tool": arguments: not a JSON object`},
		{"two", fileCall(t, file, "tool", `{} {}`), `tool "tool": arguments: invalid character '{' after top-level value`},
		{"deep", fileCall(t, file, "tool", `{"a": `+deep), `tool "tool": arguments: invalid character '[' exceeded max depth`},
		{"no function's name", fileCall(t, file, "get-weather", `{}`), `tool "get-weather": function: "get-weather" is no name of a function`},
		{"no path", fileCall(t, "", "tool", `{}`), `tool "tool": python_file: "" is no path`},
		{"NUL", fileCall(t, file+"\x00", "tool", `{}`), " is no path"},
		{"relative to nothing", fileCall(t, "tool.py", "tool", `{}`), `tool "tool": python_file: "tool.py" is relative, and there is no directory that it belongs to`},
		{"no code", func(ts tools.Tools) (tools.PythonResult, error) {
			return ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: " \n"})
		}, `tool "a": code is required`},
		{"too much code", func(ts tools.Tools) (tools.PythonResult, error) {
			return ts.Inline(t.Context(), tools.InlineArgs{PythonCall: named("a", ""), Code: strings.Repeat("#", tools.MaxCode+1)})
		}, `tool "a": code: 8388609 bytes, more than 8388608`},
		{"handler without function", plugin(t, dir, "python:tool.py"), `plugin tool "p": malformed handler "python:tool.py", which has to be python:FILE::FUNCTION`},
		{"handler with an empty function", plugin(t, dir, "python:tool.py::"), `malformed handler`},
		{"handler with an expression", plugin(t, dir, "python:tool.py::__import__('os')"), `malformed handler`},
		{"handler without file", plugin(t, dir, "python:::run"), `malformed handler`},
		{"no handler", plugin(t, dir, ""), `malformed handler ""`},
		{"no scheme", plugin(t, dir, "tool.py::run"), `unsupported handler scheme "tool.py" (supported: python)`},
		{"another scheme", plugin(t, dir, "node:x.js"), `plugin tool "p": unsupported handler scheme "node" (supported: python)`},
		{"relative plugin", plugin(t, "plugins/p", "python:tool.py::run"), `is no absolute path of a directory`},
	} {
		b := fake.New()
		_, err := c.call(set(t, b))
		require.ErrorIs(t, err, sandbox.ErrInvalid, c.name)
		assert.ErrorContains(t, err, c.want, c.name)
		assert.True(t, tools.Final(err), c.name)
		assert.Empty(t, b.Calls(), c.name)
	}
	for _, handler := range []string{"python:../../etc/x.py::f", "python:/etc/x.py::f", "python:..::f"} {
		b := fake.New()
		_, err := plugin(t, dir, handler)(set(t, b))
		require.ErrorIs(t, err, sandbox.ErrRefused, handler)
		assert.ErrorContains(t, err, "outside the plugin's directory")
		assert.True(t, tools.Final(err))
		assert.Empty(t, b.Calls(), handler)
	}
}

func fileCall(t *testing.T, file, name, arguments string) func(tools.Tools) (tools.PythonResult, error) {
	return func(ts tools.Tools) (tools.PythonResult, error) {
		return ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: named(name, arguments), File: file})
	}
}

func plugin(t *testing.T, dir, handler string) func(tools.Tools) (tools.PythonResult, error) {
	return func(ts tools.Tools) (tools.PythonResult, error) {
		return ts.Plugin(t.Context(), tools.PluginArgs{PythonCall: named("p", ""), Dir: dir, Handler: handler})
	}
}

// Ten MiB of arguments are many, and arguments.
func TestPythonLargeArguments(t *testing.T) {
	b := fake.New(fake.Exit(0, "", ""))
	arguments := `{"a": "` + strings.Repeat("x", 10<<20) + `"}`
	_, err := fileCall(t, filepath.Join(toolDir(t, "a.py", ""), "a.py"), "a", arguments)(set(t, b))
	require.NoError(t, err)
	assert.Equal(t, arguments, string(b.Calls()[0].Stdin))

	call := tools.PythonCall{Name: "a", Arguments: make([]byte, tools.MaxArguments+1)}
	_, err = set(t, b).Inline(t.Context(), tools.InlineArgs{PythonCall: call, Code: "pass"})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	assert.ErrorContains(t, err, "134217729 bytes")
}

func TestPythonFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are another matter there")
	}
	dir, other := toolDir(t, "in/tool.py", "def tool(): ..."), toolDir(t, "tool.py", "def tool(): ...")
	in := filepath.Join(dir, "in")
	require.NoError(t, os.Symlink(filepath.Join(other, "tool.py"), filepath.Join(in, "out.py")))
	require.NoError(t, os.Symlink("in", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(other, filepath.Join(in, "away")))
	require.NoError(t, os.Symlink("loop.py", filepath.Join(in, "loop.py")))
	require.NoError(t, os.Mkdir(filepath.Join(in, "dir.py"), 0o755))
	makePipe(t, filepath.Join(in, "pipe.py"))
	for _, c := range []struct {
		file string
		dirs []string
		kind error
		want string
	}{
		{in + "/tool.py", nil, nil, ""},
		{in + "/tool.py", []string{in}, nil, ""},
		{in + "/tool.py", []string{"/nowhere", dir}, nil, ""},
		{dir + "/link/tool.py", []string{in}, nil, ""},
		{in + "/tool.py", []string{dir + "/link"}, nil, ""},
		{in + "/out.py", nil, nil, ""},
		{in + "/out.py", []string{in, other}, nil, ""},
		{in + "/out.py", []string{dir}, sandbox.ErrRefused, "outside the configured allowed_tool_dirs (move the tool, or let the operator update runtime.allowed_tool_dirs)"},
		{in + "/away/tool.py", []string{dir}, sandbox.ErrRefused, "outside the configured allowed_tool_dirs"},
		{in + "/../../" + filepath.Base(filepath.Dir(other)) + "/x", []string{dir}, sandbox.ErrInvalid, "no such file or directory"},
		{other + "/tool.py", []string{dir}, sandbox.ErrRefused, "outside the configured allowed_tool_dirs"},
		{other + "/tool.py", []string{"/nowhere"}, sandbox.ErrRefused, "outside the configured allowed_tool_dirs; lstat /nowhere: no such file or directory"},
		{in + "/none.py", nil, sandbox.ErrInvalid, "no such file or directory"},
		{in + "/loop.py", nil, sandbox.ErrInvalid, "too many"},
		{in + "/dir.py", nil, sandbox.ErrInvalid, "it is no regular file"},
		{in + "/pipe.py", nil, sandbox.ErrInvalid, "it is no regular file"},
		{"/dev/null", nil, sandbox.ErrInvalid, "it is no regular file"},
	} {
		b := fake.New(fake.Exit(0, "", ""))
		ts := set(t, b)
		ts.Python.AllowedDirs = c.dirs
		_, err := fileCall(t, c.file, "tool", "{}")(ts)
		if c.kind == nil {
			require.NoError(t, err, c.file)
			shown, err := filepath.EvalSymlinks(c.file)
			require.NoError(t, err)
			assert.Equal(t, filepath.Dir(shown), source(t, b.Calls()[0], "/tool"), c.file)
			continue
		}
		require.ErrorIs(t, err, c.kind, c.file)
		assert.ErrorContains(t, err, c.want)
		assert.Empty(t, b.Calls(), c.file)
	}
	for handler, want := range map[string]string{
		"python:out.py::f": "path escapes", "python:away/tool.py::f": "path escapes", "python:none.py::f": "no such file", "python:dir.py::f": "no regular file",
	} {
		b := fake.New()
		_, err := plugin(t, in, handler)(set(t, b))
		assert.True(t, tools.Final(err), handler)
		assert.ErrorContains(t, err, want, handler)
		assert.Empty(t, b.Calls(), handler)
	}
}

// A tool of the agent's home, and one that its own rights keep the caller from reading.
func TestPythonFileHome(t *testing.T) {
	dir := toolDir(t, "tools/a.py", "def a(): ...")
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	b := fake.New(fake.Exit(0, "", ""))
	_, err := fileCall(t, "~/tools/a.py", "a", "{}")(set(t, b))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "tools"), source(t, b.Calls()[0], "/tool"))

	if os.Geteuid() > 0 { // root reads everything
		require.NoError(t, os.Chmod(filepath.Join(dir, "tools", "a.py"), 0))
		_, err = fileCall(t, "~/tools/a.py", "a", "{}")(set(t, b))
		require.ErrorIs(t, err, sandbox.ErrInvalid)
		assert.ErrorIs(t, err, os.ErrPermission)
	}
}

// Every path is refused where the chokepoint refuses, and says who was called.
func TestPythonRefused(t *testing.T) {
	dir := toolDir(t, "a.py", "def a(): ...")
	calls := map[string]func(tools.Tools) (tools.PythonResult, error){
		`tool "a": `: fileCall(t, filepath.Join(dir, "a.py"), "a", "{}"),
		`tool "b": `: func(ts tools.Tools) (tools.PythonResult, error) {
			return ts.Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "b", Isolation: "sandbox"}, Code: "pass"})
		},
		`plugin tool "p": `: plugin(t, dir, "python:a.py::a"),
	}
	down := &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "docker", Cause: errors.New("isolation unavailable (no host fallback)")}
	for name, call := range calls {
		_, err := call(tools.Tools{})
		require.ErrorIs(t, err, sandbox.ErrRefused, name)
		assert.EqualError(t, err, name+"isolation is unavailable; refusing host execution")

		b := fake.New()
		ts := set(t, b)
		ts.Chooser = choose(func(tools.Request) (tools.Place, error) { return tools.Place{}, down })
		_, err = call(ts)
		assert.EqualError(t, err, name+"docker: isolation unavailable (no host fallback)")
		assert.True(t, tools.Final(err))

		ts.Chooser = choose(func(tools.Request) (tools.Place, error) { return tools.Place{Backend: b, OnHost: true}, nil })
		if name == `tool "b": ` {
			_, err = call(ts)
			require.ErrorIs(t, err, sandbox.ErrRefused)
			assert.ErrorContains(t, err, "a sandbox was asked for")
		}
		assert.Empty(t, b.Calls())

		ts = set(t, fake.New(fake.Fail(&sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: sandbox.ErrNotFound})))
		_, err = call(ts)
		require.ErrorIs(t, err, sandbox.ErrNotFound)
		assert.ErrorContains(t, err, "let the operator choose an image that has python3")
	}
}

// A progress line goes to its callback and leaves no trace in the result; everything else stays, and is logged in lines.
func TestPythonProgress(t *testing.T) {
	long := `{"type": "progress", "status": "` + strings.Repeat("x", 70<<10) + `"}`
	stream := "first\n" + `{"type":"progress","percent":50,"status":"half"}` + "\r\n" + `{"type":"progress"` + "\n" +
		`{"type":"progress","percent":"much"}` + "\n" + long + "\n{\"type\": \"other\"}\n\n" + ` {"percent":99.5,"type":"progress"}`
	rest := "first\n{\"type\":\"progress\"\n{\"type\":\"progress\",\"percent\":\"much\"}\n" + long + "\n{\"type\": \"other\"}\n\n"
	want := []tools.Progress{{Percent: 50, Status: "half"}, {Percent: 99.5}}

	var got []tools.Progress
	var log []string
	call := tools.PythonCall{
		Name: "a", Progress: func(p tools.Progress) { got = append(got, p) }, Log: func(line string) { log = append(log, line) },
	}
	r, err := set(t, fake.New(fake.Exit(0, stream, "one\ntwo\xff"))).Inline(t.Context(), tools.InlineArgs{PythonCall: call, Code: "pass"})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, strings.TrimSpace(rest), r.Output)
	assert.Equal(t, rest, string(r.Result.Stdout))
	assert.Equal(t, []string{"one", "two\uFFFD"}, log)

	// What a function prints comes on the error stream.
	got, log = nil, nil
	file := filepath.Join(toolDir(t, "a.py", ""), "a.py")
	ts := set(t, fake.New(fake.Exit(0, `{"type":"progress","percent":1}`, stream), fake.Exit(0, "", stream)))
	r, err = ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: file})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, `{"type":"progress","percent":1}`, r.Output, "what a function returns is its result, whatever it looks like")
	assert.Equal(t, rest, string(r.Result.Stderr))
	require.Len(t, log, 7)
	assert.Equal(t, long, log[3]+log[4])
	assert.Len(t, log[3], 64<<10)

	call.Progress, call.Log = nil, nil
	r, err = ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: call, File: file})
	require.NoError(t, err)
	assert.Equal(t, rest, string(r.Result.Stderr), "also when nobody listens")
}
