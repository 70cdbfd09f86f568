package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// The first call begins a session, and says how to go on; later ones find its files, whichever tool they call and whichever
// connection they come on.
func TestSession(t *testing.T) {
	s := newScene(t, func(c fake.Call) fake.Reply {
		data, err := os.ReadFile(filepath.Join(mounted(c, "/workspace"), "f"))
		return fake.Exit(0, fmt.Sprint(string(data), err), "")
	})
	c := s.client(t, nil)
	r := call(t, c, "write_file", args{"path": "f", "content": "hello"})
	id := session(t, r)
	require.Len(t, r.Content, 2)
	assert.Equal(t, "session_id: "+id+"\nGive it to later calls to work in the same /workspace.", r.Content[1].(*mcp.TextContent).Text)

	r = call(t, c, "read_file", args{"path": "/workspace/f", "session_id": id})
	assert.Equal(t, "hello", text(t, r))
	assert.Len(t, r.Content, 1, "what is known is not said again")
	other := s.client(t, nil)
	assert.Equal(t, "f (5 bytes)\n", text(t, call(t, other, "list_files", args{"session_id": id})))
	assert.Equal(t, "hello<nil>\n", text(t, call(t, other, "shell_exec", args{"command": "x", "session_id": id})))
	r = call(t, other, "run_code", args{"language": "bash", "code": "x", "session_id": id})
	assert.Equal(t, "Exit code: 0\n\n--- stdout ---\nhello<nil>\n", text(t, r))
	assert.Equal(t, id, session(t, r))
}

// Sessions are apart, and a path leads out of none.
func TestSessionsAreApart(t *testing.T) {
	s := newScene(t, ok)
	c := s.client(t, nil)
	one := session(t, call(t, c, "write_file", args{"path": "f", "content": "1"}))
	two := session(t, call(t, c, "shell_exec", args{"command": "x"}))
	require.NotEqual(t, one, two)
	assert.Equal(t, "(empty)\n", text(t, call(t, c, "list_files", args{"session_id": two})))
	for _, p := range []string{"../../" + one + "/workspace/f", filepath.Join(s.dir, one, "workspace", "f"), "/etc/passwd", "/workspace/../f"} {
		r := call(t, c, "read_file", args{"path": p, "session_id": two})
		assert.True(t, r.IsError, p)
		assert.Contains(t, text(t, r), "outside configured workspace roots", p)
	}
	require.NoError(t, os.Symlink(filepath.Join(s.dir, one, "workspace"), filepath.Join(s.dir, two, "workspace", "link")))
	r := call(t, c, "read_file", args{"path": "link/f", "session_id": two})
	assert.True(t, r.IsError)
}

// The workspace of the operator's configuration is not the one that a session's programs see.
func TestConfiguredWorkspaceIsNotShown(t *testing.T) {
	dir := t.TempDir()
	s := newScene(t, ok, func(o *server.Options) {
		c := o.Tools.Chooser.(anywhere)
		c.place.Profile.Binds = []sandbox.Mount{{Source: dir, Target: tools.WorkspaceTarget, Writable: true}, {Source: "/usr", Target: "/data"}}
		o.Tools.Chooser = c
		o.Tools.Workspace, o.Tools.Roots = dir, []string{dir, "/"}
	})
	c := s.client(t, nil)
	id := session(t, call(t, c, "shell_exec", args{"command": "x"}))
	seen := s.backend.Calls()[0]
	assert.Equal(t, filepath.Join(s.dir, id, "workspace"), mounted(seen, "/workspace"))
	assert.Equal(t, "/usr", mounted(seen, "/data"))
	assert.True(t, call(t, c, "read_file", args{"path": "/etc/passwd", "session_id": id}).IsError)
}

// A session that nobody uses ends; one that a call uses does not.
func TestIdle(t *testing.T) {
	running, free := make(chan struct{}), make(chan struct{})
	s := newScene(t, func(c fake.Call) fake.Reply {
		if c.Command.Argv[2] == "wait" {
			close(running)
			<-free
		}
		return fake.Exit(0, "", "")
	}, func(o *server.Options) { o.Idle = 300 * time.Millisecond })
	c := s.client(t, nil)
	var wait sync.WaitGroup
	wait.Go(func() {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "shell_exec", Arguments: args{"command": "wait"}})
		if assert.NoError(t, err) {
			assert.False(t, r.IsError)
		}
	})
	<-running
	used := entries(t, s.dir)
	require.Len(t, used, 1)
	id := session(t, call(t, c, "shell_exec", args{"command": "x"}))
	eventually(t, func() bool { return len(entries(t, s.dir)) == 1 }, "the idle one ends")
	assert.Equal(t, used, entries(t, s.dir))
	r := call(t, c, "read_file", args{"path": "f", "session_id": id})
	assert.True(t, r.IsError)
	assert.Contains(t, text(t, r), "is no session, or no longer one")
	close(free)
	wait.Wait()
	eventually(t, func() bool { return len(entries(t, s.dir)) == 0 }, "and the other when its call has ended")
}

// There are only so many, and a call that came to nothing leaves none.
func TestSessionsAreBounded(t *testing.T) {
	s := newScene(t, func(c fake.Call) fake.Reply {
		if c.Command.Argv[2] == "fail" {
			return fake.Fail(unavailable)
		}
		return fake.Exit(1, "", "")
	}, func(o *server.Options) { o.Sessions = 2 })
	c := s.client(t, nil)
	for range 3 {
		assert.True(t, call(t, c, "shell_exec", args{"command": "fail"}).IsError)
		assert.True(t, call(t, c, "write_file", args{"path": "/etc/x", "content": ""}).IsError)
	}
	assert.Empty(t, entries(t, s.dir))
	first := session(t, call(t, c, "shell_exec", args{"command": "x"}))
	session(t, call(t, c, "shell_exec", args{"command": "x"}))
	r := call(t, c, "shell_exec", args{"command": "x"})
	assert.True(t, r.IsError)
	assert.Contains(t, text(t, r), "there are 2 sessions already")
	assert.False(t, call(t, c, "shell_exec", args{"command": "x", "session_id": first}).IsError)
}

// An empty session_id is none: models write "" for what they leave out.
func TestEmptySession(t *testing.T) {
	c := newScene(t, ok).client(t, nil)
	for _, none := range []any{"", nil} {
		session(t, call(t, c, "shell_exec", args{"command": "x", "session_id": none}))
		assert.True(t, call(t, c, "list_files", args{"session_id": none}).IsError)
		assert.False(t, call(t, c, "run_code", args{"language": "sh", "code": "x", "session_id": none}).IsError)
	}
	// One that is written twice is the last, as JSON has it; the word in the code is no argument.
	r := call(t, c, "run_code", args{"language": "sh", "code": "echo session_id"})
	assert.Nil(t, field(t, r, "session_id"))
}

// Without anybody who decides, nothing runs.
func TestNobodyDecides(t *testing.T) {
	s := newScene(t, ok, func(o *server.Options) { o.Tools = tools.Tools{} })
	c := s.client(t, nil)
	for name, a := range map[string]args{
		"run_code": {"language": "sh", "code": "x"}, "shell_exec": {"command": "x"}, "write_file": {"path": "f", "content": ""},
	} {
		assert.True(t, call(t, c, name, a).IsError, name)
	}
}
