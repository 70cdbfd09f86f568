package server_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// patience is how long a test waits for what has to come.
const patience = 60 * time.Second

// anywhere has every call run on one backend.
type anywhere struct {
	place tools.Place
}

func (c anywhere) Choose(context.Context, tools.Request) (tools.Place, error) { return c.place, nil }

// scene is a server over a scripted backend, with what its options are made of.
type scene struct {
	*server.Server
	backend *fake.Backend
	dir     string
}

// newScene makes a server whose programs do what program says.
func newScene(t *testing.T, program func(fake.Call) fake.Reply, change ...func(*server.Options)) *scene {
	t.Helper()
	s := &scene{backend: &fake.Backend{Handler: program}, dir: t.TempDir()}
	o := server.Options{Tools: tools.Tools{Chooser: anywhere{tools.Place{Backend: s.backend}}}, Dir: s.dir}
	for _, f := range change {
		f(&o)
	}
	s.Server = server.New(t.Context(), o)
	t.Cleanup(func() {
		assert.NoError(t, s.Close())
		assert.Empty(t, entries(t, s.dir), "what was made for calls is gone")
	})
	return s
}

func ok(fake.Call) fake.Reply { return fake.Exit(0, "out\n", "") }

// client is a client of the SDK's on a connection of its own.
func (s *scene) client(t *testing.T, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeLines(context.Background(), in, out) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		assert.NoError(t, <-served)
	})
	return session
}

type args = map[string]any

// call calls a tool, whose result has to be as its schema says.
func call(t *testing.T, c *mcp.ClientSession, name string, a args) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: a})
	require.NoError(t, err)
	conforms(t, c, name, r)
	return r
}

// conforms checks a structured result against the schema of its tool.
func conforms(t *testing.T, c *mcp.ClientSession, name string, r *mcp.CallToolResult) {
	t.Helper()
	if r.IsError {
		assert.Nil(t, r.StructuredContent)
		return
	}
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == name })
	require.GreaterOrEqual(t, i, 0)
	assert.NoError(t, schema(t, list.Tools[i].OutputSchema).Validate(r.StructuredContent), name)
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

// field is a field of a structured result.
func field(t *testing.T, r *mcp.CallToolResult, name string) any {
	t.Helper()
	require.False(t, r.IsError, text(t, r))
	m, isMap := r.StructuredContent.(map[string]any)
	require.True(t, isMap)
	return m[name]
}

// session is the session that a result names.
func session(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	id, isString := field(t, r, "session_id").(string)
	require.True(t, isString)
	return id
}

// text is the first content of a result.
func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, r.Content)
	c, isText := r.Content[0].(*mcp.TextContent)
	require.True(t, isText)
	return c.Text
}

// mounted is the directory of the host that a call saw at a path, or "".
func mounted(c fake.Call, target string) string {
	for _, m := range c.Profile.Binds {
		if m.Target == target {
			return m.Source
		}
	}
	return ""
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	return names
}

func eventually(t *testing.T, done func() bool, what string) {
	t.Helper()
	require.Eventually(t, done, patience, 5*time.Millisecond, what)
}

var unavailable = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "start", Cause: os.ErrPermission, Fix: "mend it"}
