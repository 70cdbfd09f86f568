package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

const token = "a-token-of-the-test"

// machine is where a server runs: its directory for temporary files has to be empty in the end.
type machine struct{ temp string }

func newMachine(t *testing.T) machine {
	t.Helper()
	programs.RequireNative(t)
	m := machine{t.TempDir()}
	t.Cleanup(func() { assert.Empty(t, m.left(t), "nothing is left of a server") })
	return m
}

// left is what servers left.
func (m machine) left(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(m.temp, "*"))
	require.NoError(t, err)
	return names
}

func (m machine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(programs.Toolcell(), append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+m.temp, "TOOLCELL_MCP_TOKEN="+token)
	return cmd
}

// transports are the ways to a server, each with a client of the SDK's.
var transports = map[string]func(machine, *testing.T, *mcp.ClientOptions) *mcp.ClientSession{
	"stdio": machine.stdio,
	"http": func(m machine, t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
		return m.listen(t).client(t, o)
	},
}

// overBoth runs a test over both transports.
func overBoth(t *testing.T, o *mcp.ClientOptions, test func(*testing.T, *mcp.ClientSession)) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) { test(t, connect(newMachine(t), t, o)) })
	}
}

// stdio starts a server for one client.
func (m machine) stdio(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var stderr bytes.Buffer
	cmd := m.command()
	cmd.Stderr = &stderr
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	require.NoError(t, err, stderr.String())
	t.Cleanup(func() {
		assert.NoError(t, session.Close())
		assert.Empty(t, stderr.String(), "there is nothing to complain about")
	})
	return session
}

// site is a server that listens.
type site struct {
	url string
	cmd *exec.Cmd
}

// listen starts one, and ends it with a signal after the test.
func (m machine) listen(t *testing.T) site {
	t.Helper()
	cmd := m.command("--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		rest, err := io.ReadAll(stderr)
		assert.NoError(t, err)
		assert.Empty(t, string(rest))
		_ = cmd.Wait()
		assert.Equal(t, 143, cmd.ProcessState.ExitCode())
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err, line)
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "toolcell: serving on ")
	require.True(t, ok, line)
	return site{url, cmd}
}

// bearer adds the token to requests.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func (s site) client(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type args = map[string]any

// call calls a tool, whose result has to be one and as its schema says.
func call(t *testing.T, c *mcp.ClientSession, name string, a args) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: a})
	require.NoError(t, err)
	require.False(t, r.IsError, text(r))
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		if tool.Name == name {
			assert.NoError(t, schema(t, tool.OutputSchema).Validate(r.StructuredContent))
			return r
		}
	}
	require.Fail(t, "the tool is not listed", name)
	return nil
}

func schema(t *testing.T, v any) *jsonschema.Resolved {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(data, &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	return r
}

// text is the first content of a result.
func text(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Sprintf("%T", r.Content[0])
	}
	return c.Text
}

// field is a field of a structured result.
func field(r *mcp.CallToolResult, name string) any {
	m, _ := r.StructuredContent.(map[string]any)
	return m[name]
}

// processes are those on this machine whose command line has a word.
func processes(t *testing.T, word string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && bytes.Contains(line, []byte(word)) {
			out = append(out, filepath.Dir(f))
		}
	}
	return out
}

func eventually(t *testing.T, done func() bool, what string) {
	t.Helper()
	require.Eventually(t, done, patience, 20*time.Millisecond, what)
}

// lasting is a command that runs until it is killed, whatever it is asked, and is found by its word; it says when it runs.
func lasting(word string) args {
	script := fmt.Sprintf(`trap "" TERM INT HUP; (exec -a %[1]s-child bash -c 'echo child; while :; do sleep 600; done' %[1]s) & echo running; while :; do sleep 600; done # %[1]s`, word)
	return args{"language": "bash", "code": script}
}
