package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// What is offered is what the README says, in the same order each time, described for a client that knows nothing.
func TestTools(t *testing.T) {
	c := newScene(t, ok).client(t, nil)
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	type hints struct{ readOnly, destructive, idempotent, open bool }
	want := map[string]hints{
		"list_files": {readOnly: true, idempotent: true}, "read_file": {readOnly: true, idempotent: true},
		"run_code": {}, "shell_exec": {destructive: true}, "write_file": {destructive: true, idempotent: true},
	}
	var names []string
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		assert.Equal(t, want[tool.Name], hints{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint}, tool.Name)
		assert.NotEmpty(t, tool.Title)
		assert.NotEmpty(t, tool.Description)
		assert.True(t, strings.Contains(string(readme), "\n| `"+tool.Name+"` |"), "the README says what %s does", tool.Name)
		for _, s := range []any{tool.InputSchema, tool.OutputSchema} {
			m, isMap := s.(map[string]any)
			require.True(t, isMap)
			assert.Equal(t, "object", m["type"])
			assert.Contains(t, m["properties"], "session_id")
			schema(t, s)
		}
	}
	assert.Equal(t, []string{"list_files", "read_file", "run_code", "shell_exec", "write_file"}, names)
}

// A tool that the operator lets reach out says so.
func TestOpenWorld(t *testing.T) {
	for name, place := range map[string]tools.Place{
		"network": {Profile: sandbox.ContainerProfile{Network: "bridge"}}, "host": {OnHost: true},
	} {
		s := newScene(t, ok, func(o *server.Options) { o.Tools.Chooser = anywhere{place} })
		list, err := s.client(t, nil).ListTools(t.Context(), nil)
		require.NoError(t, err)
		for _, tool := range list.Tools {
			open := tool.Name == "run_code" || tool.Name == "shell_exec" && name == "host"
			assert.Equal(t, open, *tool.Annotations.OpenWorldHint, "%s %s", name, tool.Name)
		}
	}
}

// run_code gives the text of the tool, to the byte, and its result; code and input arrive.
func TestRunCode(t *testing.T) {
	s := newScene(t, func(c fake.Call) fake.Reply { return fake.Exit(3, string(c.Stdin), "") })
	c := s.client(t, nil)
	r := call(t, c, "run_code", args{"language": "py", "code": "x", "stdin": "in\n", "timeout_seconds": "7"})
	assert.Equal(t, "Exit code: 3\n\n--- stdout ---\nin\n", text(t, r))
	assert.Len(t, r.Content, 1)
	assert.InDelta(t, 3, field(t, r, "exit_code"), 0)
	assert.Nil(t, field(t, r, "session_id"))
	assert.False(t, r.IsError, "a program that fails is a result")
	calls := s.backend.Calls()
	require.Len(t, calls, 1)
	assert.Empty(t, mounted(calls[0], "/workspace"))
	assert.Equal(t, 7.0, calls[0].Command.Timeout.Seconds())
}

// What a program did is never an error of the tool's; only a sandbox that did not run it is, and what cannot be meant.
func TestWhatIsAnError(t *testing.T) {
	status := func(s sandbox.Status) fake.Reply { return fake.Reply{Result: sandbox.Result{Status: s}} }
	for name, c := range map[string]struct {
		reply fake.Reply
		args  args
		kind  string
		text  string
	}{
		"exit":         {reply: fake.Exit(1, "", "no\n"), text: "Exit code: 1\n\n--- stderr ---\nno\n"},
		"timeout":      {reply: status(sandbox.StatusTimeout), text: "Execution timed out after 30s\n\n(no output)\n"},
		"oom":          {reply: status(sandbox.StatusOOM), text: "Execution stopped: out of memory at 512 MB\n\n(no output)\n"},
		"no UTF-8":     {reply: fake.Exit(0, "\xff", ""), text: "Exit code: 0\n\n--- stdout ---\n\uFFFD\n"},
		"unavailable":  {reply: fake.Fail(unavailable), kind: "unavailable", text: "Error: start: permission denied (mend it)"},
		"language":     {args: args{"language": "rust", "code": "x"}, kind: "invalid", text: `Error: unsupported language "rust" (supported: bash, node, python).`},
		"blank":        {args: args{"language": "python", "code": " "}, kind: "invalid", text: "Error: code is required."},
		"timeout word": {args: args{"language": "python", "code": "x", "timeout_seconds": "soon"}, kind: "invalid", text: `Error: run_code: arguments: a timeout has to be a number of seconds, and "soon" is none`},
		"unknown":      {args: args{"language": "python", "code": "x", "cpu": 1}, kind: "invalid", text: `Error: run_code: arguments: unknown field "cpu" (accepted: code, isolation, language, network, session_id, stdin, timeout_seconds)`},
		"network":      {args: args{"language": "python", "code": "x", "network": true}, kind: "refused"},
		"session type": {args: args{"language": "python", "code": "x", "session_id": 5}, kind: "invalid", text: "Error: session_id: it has to be a string"},
		"session":      {args: args{"language": "python", "code": "x", "session_id": "s_no"}, kind: "invalid"},
	} {
		if c.args == nil {
			c.args = args{"language": "python", "code": "x"}
		}
		s := newScene(t, func(fake.Call) fake.Reply { return c.reply })
		r := call(t, s.client(t, nil), "run_code", c.args)
		assert.Equal(t, c.kind != "", r.IsError, name)
		if c.text != "" {
			assert.Equal(t, c.text, text(t, r), name)
		}
		if c.kind != "" {
			assert.Equal(t, c.kind, r.Meta["github.com/soulacy/toolcell/error"].(map[string]any)["kind"], name)
		}
	}
}

// What is there twice is refused before anything is taken out: a reader that took the first would have allowed another call.
func TestDuplicateArguments(t *testing.T) {
	s := newScene(t, ok)
	c := s.client(t, nil)
	for _, raw := range []string{
		`{"session_id":null,"command":"echo seen","command":"echo hidden"}`, `{"command":"echo seen","session_id":null,"session_id":null}`,
	} {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "shell_exec", Arguments: json.RawMessage(raw)})
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Contains(t, text(t, r), "is there twice", raw)
	}
	assert.Empty(t, s.backend.Calls())
}

// Arguments that are no object are a message for the model, too.
func TestArgumentsThatAreNone(t *testing.T) {
	c := newScene(t, ok).client(t, nil)
	for _, raw := range []string{`[]`, `"x"`, `5`, `["session_id"]`} {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: json.RawMessage(raw)})
		require.NoError(t, err)
		assert.True(t, r.IsError)
		assert.Contains(t, text(t, r), "not a JSON object")
	}
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "python_eval", Arguments: args{"code": "1"}})
	assert.ErrorContains(t, err, "unknown tool", "what is not offered cannot be called")
}

// Files that code left come back: images as images, text as text, the rest as bytes.
func TestArtifacts(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	require.NoError(t, err)
	s := newScene(t, func(c fake.Call) fake.Reply {
		out := mounted(c, "/output")
		assert.NoError(t, os.WriteFile(filepath.Join(out, "plot.png"), png, 0o600))
		assert.NoError(t, os.WriteFile(filepath.Join(out, "a b.csv"), []byte("x,y\n"), 0o600))
		assert.NoError(t, os.WriteFile(filepath.Join(out, "raw"), []byte{0, 255}, 0o600))
		assert.NoError(t, os.WriteFile(filepath.Join(out, "big"), make([]byte, 3<<20), 0o600))
		return fake.Exit(0, "", "")
	})
	r := call(t, s.client(t, nil), "run_code", args{"language": "python", "code": "x"})
	require.Len(t, r.Content, 4)
	assert.Equal(t, &mcp.ResourceContents{URI: "toolcell://output/a%20b.csv", MIMEType: "text/csv", Text: "x,y\n"}, r.Content[1].(*mcp.EmbeddedResource).Resource)
	assert.Equal(t, &mcp.ImageContent{Data: png, MIMEType: "image/png", Meta: mcp.Meta{"name": "plot.png"}}, r.Content[2])
	assert.Equal(t, []byte{0, 255}, r.Content[3].(*mcp.EmbeddedResource).Resource.Blob)
	assert.Contains(t, text(t, r), "not returned: big: 3145728 bytes are too large")
}

// A call that a client cancels ends in the backend, and the client is served on.
func TestCancel(t *testing.T) {
	running := make(chan struct{}, 1)
	s := newScene(t, func(c fake.Call) fake.Reply {
		if strings.Contains(strings.Join(c.Command.Argv, " "), "wait") {
			running <- struct{}{}
			return fake.Reply{Block: true}
		}
		return fake.Exit(0, "", "")
	})
	c := s.client(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "shell_exec", Arguments: args{"command": "wait"}})
	require.ErrorIs(t, err, context.Canceled)
	call(t, c, "shell_exec", args{"command": "true"})
	// That it ended in the backend, too, is what the end of the test waits for.
}

// A client that goes away takes its calls along; so does the server's end.
func TestGoneClient(t *testing.T) {
	running, answered := make(chan struct{}, 1), make(chan struct{})
	s := newScene(t, func(fake.Call) fake.Reply {
		running <- struct{}{}
		return fake.Reply{Block: true}
	})
	c := s.client(t, nil)
	go func() {
		defer close(answered)
		_, _ = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "shell_exec", Arguments: args{"command": "wait"}})
	}()
	<-running
	go func() { _ = c.Close() }()
	require.NoError(t, s.Close(), "no call is left")
	<-answered
	other := s.client(t, nil)
	r := call(t, other, "shell_exec", args{"command": "true"})
	assert.Equal(t, "Error: mcp: the server is ending", text(t, r))
}

// More calls than may run wait, and are run.
func TestCallsWait(t *testing.T) {
	running, free := make(chan struct{}, 3), make(chan struct{})
	s := newScene(t, func(fake.Call) fake.Reply {
		running <- struct{}{}
		<-free
		return fake.Exit(0, "", "")
	}, func(o *server.Options) { o.Calls = 2 })
	c := s.client(t, nil)
	ended := make(chan struct{}, 3)
	for range 3 {
		go func() {
			_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: args{"language": "sh", "code": "x"}})
			assert.NoError(t, err)
			ended <- struct{}{}
		}()
	}
	<-running
	<-running
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err, "the others do not wait")
	assert.NotEmpty(t, list.Tools)
	assert.Len(t, s.backend.Calls(), 2)
	close(free)
	for range 3 {
		<-ended
	}
}

// A result says what of a confinement did not hold; the whole of it, where a program asks for it.
func TestEnforcementGaps(t *testing.T) {
	s := newScene(t, ok)
	for _, g := range sandbox.Guarantees() {
		e := sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: "m"}
		switch g {
		case sandbox.FSNoexecScratch:
			e.Reason = "memfds can be run"
		case sandbox.IPCNoHostSockets:
			e = sandbox.Enforcement{Guarantee: g, Reason: "the kernel is old"}
		}
		s.backend.Report = append(s.backend.Report, e)
	}
	c := s.client(t, nil)
	want := []any{
		args{"guarantee": string(sandbox.FSNoexecScratch), "enforced": true, "mechanism": "m", "reason": "memfds can be run", "waived": false},
		args{"guarantee": string(sandbox.IPCNoHostSockets), "enforced": false, "mechanism": "", "reason": "the kernel is old", "waived": false},
	}
	r := call(t, c, "run_code", args{"language": "sh", "code": "x"})
	assert.Equal(t, want, field(t, r, "enforcement_gaps"))
	assert.Nil(t, field(t, r, "enforcement"))

	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "run_code", Arguments: args{"language": "sh", "code": "x"}, Meta: mcp.Meta{"github.com/soulacy/toolcell/enforcement": true},
	})
	require.NoError(t, err)
	conforms(t, c, "run_code", r)
	assert.Len(t, field(t, r, "enforcement"), len(s.backend.Report))
	assert.Equal(t, want, field(t, r, "enforcement_gaps"))

	i := slices.IndexFunc(s.backend.Report, func(e sandbox.Enforcement) bool { return e.Guarantee == sandbox.IPCNoHostSockets })
	s.backend.Report = slices.Delete(s.backend.Report, i, i+1)
	r = call(t, c, "run_code", args{"language": "sh", "code": "x"})
	assert.Len(t, field(t, r, "enforcement_gaps"), 2, "what nothing is known of does not hold")
}
