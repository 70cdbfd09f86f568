package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

type schemaJSON struct {
	Type       string
	Properties map[string]struct{ Type, Description string }
	Required   []string
	Additional *bool `json:"additionalProperties"`
}

func parseSchema(t *testing.T, raw json.RawMessage) schemaJSON {
	t.Helper()
	var s schemaJSON
	require.NoError(t, json.Unmarshal(raw, &s))
	return s
}

// What a model is told is what a call takes: every tool, every argument, and no other.
func TestDefinitionsMatchCalls(t *testing.T) {
	samples := map[string]string{"string": `"x"`, "number": "1", "integer": "1", "boolean": "true", "array": `["x"]`}
	seen := map[tools.Name]bool{}
	for _, d := range tools.Definitions() {
		assert.False(t, seen[d.Name])
		seen[d.Name] = true
		assert.NotEmpty(t, d.Title)
		assert.NotEmpty(t, d.Description)
		s := parseSchema(t, d.Schema)
		assert.Equal(t, "object", s.Type)
		require.NotNil(t, s.Additional)
		assert.False(t, *s.Additional)
		assert.Contains(t, s.Properties, "isolation", "any call may insist on a sandbox")
		for name, p := range s.Properties {
			require.Contains(t, samples, p.Type)
			assert.NotEmpty(t, p.Description)
			r := tools.Tools{}.Call(t.Context(), d.Name, json.RawMessage(fmt.Sprintf(`{%q:%s}`, name, samples[p.Type])), tools.Streams{})
			require.Error(t, r.Err)
			assert.NotContains(t, r.Text, "unknown field", "%s takes %s", d.Name, name)
			assert.NotContains(t, r.Text, "has to be", "%s: %s is a %s", d.Name, name, p.Type)
		}
		r := tools.Tools{}.Call(t.Context(), d.Name, json.RawMessage(`{"privileged":true}`), tools.Streams{})
		assert.Contains(t, r.Text, `unknown field "privileged"`, d.Name)
		assert.ErrorIs(t, r.Err, sandbox.ErrInvalid)
		for _, name := range s.Required {
			assert.Contains(t, s.Properties, name)
		}
	}
	assert.Len(t, seen, 9)
	r := tools.Tools{}.Call(t.Context(), "sudo", nil, tools.Streams{})
	assert.Equal(t, "Error: tool sudo: there is no such tool (known: run_code, shell_exec, run_script, python_eval, install_library, "+
		"write_file, read_file, list_files, download_file)", r.Text)
	assert.True(t, r.IsError())
	r = tools.Tools{}.Call(t.Context(), "x\n\x1b[31m", nil, tools.Streams{})
	assert.Contains(t, r.Text, `Error: tool "x\n\x1b[31m": there is no such tool`)
}

func TestCall(t *testing.T) {
	b := &fake.Backend{Handler: func(c fake.Call) fake.Reply {
		for _, m := range c.Profile.Binds {
			if m.Target == "/output" {
				assert.NoError(t, os.WriteFile(filepath.Join(m.Source, "f.json"), []byte("{}"), 0o600))
			}
		}
		return fake.Exit(1, "out\xff", string(c.Stdin))
	}}
	ts := set(t, b)
	var stdout, stderr bytes.Buffer
	r := ts.Call(t.Context(), tools.NameRunCode, json.RawMessage(`{"language":"Py","code":"x","timeout_seconds":" 2 ","stdin":"in"}`),
		tools.Streams{Stdout: &stdout, Stderr: &stderr})
	require.NoError(t, r.Err)
	assert.False(t, r.IsError(), "a program that fails is a result")
	assert.Equal(t, "Exit code: 1\n\n--- stdout ---\nout\uFFFD\n\n--- stderr ---\nin\n\n--- files ---\nf.json (application/json, 2 bytes)\n", r.Text)
	assert.Equal(t, "out\xff", stdout.String())
	assert.Equal(t, "in", stderr.String())
	assert.Equal(t, 2*time.Second, b.Calls()[0].Command.Timeout)
	require.Len(t, r.Artifacts, 1)
	var got map[string]any
	require.NoError(t, json.Unmarshal(r.Structured, &got))
	assert.Equal(t, "exited", got["status"])
	assert.EqualValues(t, 1, got["exit_code"])
	assert.Equal(t, "b3V0/w==", got["stdout_base64"])
	assert.Equal(t, []any{map[string]any{"path": "/output/f.json", "size": 2.0}}, got["artifacts"])

	for _, c := range []struct {
		name tools.Name
		args string
		text string
	}{
		{tools.NameWriteFile, `{"path":"d/a.sh","content":"x\n"}`, "Wrote 2 bytes to d/a.sh"},
		{tools.NameReadFile, `{"path":"/workspace/d/a.sh"}`, "x\n"},
		{tools.NameListFiles, ``, "d/\n"},
		{tools.NameShellExec, `{"command":"x","working_dir":"d","timeout":5}`, "exit_code: 1\nout\uFFFD\n"},
		{tools.NameRunScript, `{"path":"d/a.sh","args":["1"]}`, "exit_code: 1\nout\uFFFD\n"},
		{tools.NamePythonEval, `{"code":"x"}`, "exit_code: 1\nout\uFFFD\n"},
	} {
		r := ts.Call(t.Context(), c.name, json.RawMessage(c.args), tools.Streams{})
		require.NoError(t, r.Err, c.name)
		assert.Equal(t, c.text, r.Text)
		assert.True(t, json.Valid(r.Structured))
	}
}

func TestCallArguments(t *testing.T) {
	b := fake.New()
	ts := set(t, b)
	for args, want := range map[string]string{
		`{}`: "code is required.", `null`: "not a JSON object", `[]`: "not a JSON object", `"x"`: "not a JSON object", `{`: "unexpected EOF",
		`{"code":"x"} {}`: "something follows", `{"code":1}`: "code has to be a string, not a JSON number", `{"code":"x","timeout_seconds":"soon"}`: `a timeout has to be a number of seconds, and "soon" is none`,
		`{"code":"x","timeout_seconds":NaN}`: "invalid character", `{"code":"x","timeout_seconds":"NaN"}`: "has to be a number", `{"code":"x","timeout_seconds":[1]}`: "has to be a number",
		`{"code":"x","timeout_seconds":true}`: "has to be a number", `{"code":"  ","language":"rust"}`: "code is required.",
		`{"code":"x","language":"rust"}`: `Error: unsupported language "rust" (supported: bash, node, python).`,
		`{"code":"x","network":"yes"}`:   "network has to be true or false, not a JSON string", `{"code":"x","lang":"py"}`: `unknown field "lang"`,
		strings.Repeat("[", 100000): "not a JSON object", `{"code":` + strings.Repeat("[", 100000): "code has to be a string, not a JSON array|exceeded max depth",
	} {
		r := ts.Call(t.Context(), tools.NameRunCode, json.RawMessage(args), tools.Streams{})
		require.ErrorIs(t, r.Err, sandbox.ErrInvalid, "%.60s", args)
		assert.True(t, tools.Final(r.Err))
		assert.Regexp(t, "^Error: ", r.Text)
		ok := false
		for w := range strings.SplitSeq(want, "|") {
			ok = ok || strings.Contains(r.Text, w)
		}
		assert.True(t, ok, "%.60s: %s", args, r.Text)
		assert.Nil(t, r.Structured)
	}
	r := ts.Call(t.Context(), tools.NameReadFile, json.RawMessage(`{"path":"x","offset":1.5}`), tools.Streams{})
	assert.Contains(t, r.Text, "offset has to be a whole number, not a JSON number 1.5")
	r = ts.Call(t.Context(), tools.NameRunScript, json.RawMessage(`{"path":"x","args":"-v"}`), tools.Streams{})
	assert.Contains(t, r.Text, "args has to be a list, not a JSON string")
	assert.Empty(t, b.Calls())
}

// Whoever looks at a call before it is made sees the arguments that count: none is there in two spellings, or twice.
func TestCallArgumentsInDisguise(t *testing.T) {
	var named struct {
		Command string `json:"command"`
	}
	for _, args := range []string{
		`{"command":"ls","Command":"rm"}`, `{"COMMAND":"rm"}`, `{"command":"ls","command":"rm"}`, `{"command":"ls","\u0063ommand":"rm"}`,
		`{"command":"rm","iſolation":""}`, `{"command":"rm","isolation":"sandbox","Isolation":""}`, `{"command":"rm","isolation":"sandbox","isolation":""}`,
	} {
		require.NoError(t, json.Unmarshal([]byte(args), &named))
		require.Equal(t, "rm", named.Command, "package json itself takes it")
		b := fake.New()
		r := set(t, b).Call(t.Context(), tools.NameShellExec, json.RawMessage(args), tools.Streams{})
		assert.ErrorIs(t, r.Err, sandbox.ErrInvalid, args)
		assert.Regexp(t, "unknown field|is there twice", r.Text, args)
		assert.Empty(t, b.Calls(), args)
	}
}

func TestCallTimeouts(t *testing.T) {
	for word, want := range map[string]time.Duration{
		"0": 30 * time.Second, "-5": 30 * time.Second, "null": 30 * time.Second, "1": time.Second, "0.5": 500 * time.Millisecond, `"7"`: 7 * time.Second,
		"99999": 300 * time.Second, "1e300": 300 * time.Second, "-1e300": 30 * time.Second, "1e999": 300 * time.Second, `"Infinity"`: 300 * time.Second,
	} {
		b := fake.New(fake.Exit(0, "", ""))
		r := set(t, b).Call(t.Context(), tools.NameRunCode, json.RawMessage(`{"language":"sh","code":"x","timeout_seconds":`+word+`}`), tools.Streams{})
		require.NoError(t, r.Err, word)
		assert.Equal(t, want, b.Calls()[0].Command.Timeout, word)
	}
}

// Large arguments arrive whole.
func TestCallLarge(t *testing.T) {
	ts := set(t, fake.New())
	content := strings.Repeat("é\u2028\"", 1<<20)
	raw, err := json.Marshal(map[string]string{"path": "large", "content": content})
	require.NoError(t, err)
	require.NoError(t, ts.Call(t.Context(), tools.NameWriteFile, raw, tools.Streams{}).Err)
	got, err := os.ReadFile(filepath.Join(ts.Workspace, "large"))
	require.NoError(t, err)
	assert.True(t, string(got) == content)
}

// No arguments make a call panic, or a tool write outside.
func FuzzCall(f *testing.F) {
	for _, d := range tools.Definitions() {
		f.Add(string(d.Name), `{"path":"a","content":"x","code":"x","language":"py","command":"x","timeout":1}`)
		f.Add(string(d.Name), `{"path":"../a","url":"http://127.0.0.1/"}`)
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(rand.Uint32()))
		ws := filepath.Join(dir, "ws")
		require.NoError(t, os.MkdirAll(ws, 0o700))
		b := &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }}
		ts := tools.Tools{Chooser: always(b), Workspace: ws, TempDir: t.TempDir()}
		if name == string(tools.NameDownloadFile) {
			ts.Chooser = nil // it would ask the network
		}
		r := ts.Call(t.Context(), tools.Name(name), json.RawMessage(args), tools.Streams{})
		assert.Equal(t, r.Err != nil, strings.HasPrefix(r.Text, "Error: ") && r.Structured == nil)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, entries, 1)
	})
}
