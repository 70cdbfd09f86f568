package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// sizes are those in a listing.
var sizes = regexp.MustCompile(` \(.* bytes\)`)

// small is a server whose workspaces hold a megabyte.
func small(o *server.Options) { o.Disk = 1 << 20 }

// last is the last text of a result.
func last(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	c, isText := r.Content[len(r.Content)-1].(*mcp.TextContent)
	require.True(t, isText)
	return c.Text
}

// A program that fills its workspace is ended, and told why. Then it may remove something, and add nothing.
func TestFullWorkspace(t *testing.T) {
	file := ""
	s := newScene(t, func(c fake.Call) fake.Reply {
		file = filepath.Join(mounted(c, tools.WorkspaceTarget), "big")
		switch command := c.Command.Argv[len(c.Command.Argv)-1]; command {
		case "fill":
			assert.NoError(t, os.WriteFile(file, make([]byte, 2<<20), 0o600))
		case "add":
			assert.NoError(t, os.WriteFile(file+"2", []byte("x"), 0o600))
		case "remove":
			assert.NoError(t, os.Truncate(file, 5))
			return fake.Exit(0, "removed\n", "")
		}
		return fake.Reply{Block: true}
	}, small)
	c := s.client(t, nil)
	r := call(t, c, "shell_exec", args{"command": "fill"})
	id := session(t, r)
	assert.Equal(t, "canceled", field(t, r, "status"))
	assert.Contains(t, last(t, r), "The workspace is full: more than 1 MB.")
	r = call(t, c, "shell_exec", args{"command": "add", "session_id": id})
	assert.Equal(t, "canceled", field(t, r, "status"), "it may hold no more than it did")
	r = call(t, c, "write_file", args{"path": "f", "content": "x", "session_id": id})
	assert.True(t, r.IsError)
	assert.Contains(t, text(t, r), "the workspace would hold more than 1 MB (remove files from it with shell_exec)")
	assert.Equal(t, "big\nbig2\n", sizes.ReplaceAllString(text(t, call(t, c, "list_files", args{"session_id": id})), ""))
	r = call(t, c, "shell_exec", args{"command": "remove", "session_id": id})
	assert.Equal(t, "removed\n", last(t, r))
	assert.False(t, call(t, c, "write_file", args{"path": "f", "content": "x", "session_id": id}).IsError)
	r = call(t, c, "write_file", args{"path": "f", "content": strings.Repeat("x", 1<<20), "session_id": id})
	assert.Contains(t, text(t, r), "would hold more than 1 MB")
}

// What hides how much there is makes a workspace unusable for programs. What is in it can still be read.
func TestHidingWorkspace(t *testing.T) {
	s := newScene(t, func(c fake.Call) fake.Reply {
		deep := filepath.Join(mounted(c, tools.WorkspaceTarget), strings.Repeat("d/", 70))
		assert.NoError(t, os.MkdirAll(deep, 0o700))
		return fake.Reply{Block: true}
	})
	c := s.client(t, nil)
	id := session(t, call(t, c, "write_file", args{"path": "f", "content": "kept"}))
	assert.Contains(t, last(t, call(t, c, "shell_exec", args{"command": "x", "session_id": id})), "nested deeper than 64")
	for name, a := range map[string]args{"shell_exec": {"command": "x"}, "run_code": {"code": "x"}, "write_file": {"path": "x"}} {
		a["session_id"] = id
		r := call(t, c, name, a)
		assert.Contains(t, text(t, r), "cannot be used any more: directories nested deeper than 64 (read what is needed", name)
	}
	assert.Equal(t, "kept", text(t, call(t, c, "read_file", args{"path": "f", "session_id": id})))
}

// A program that closes its workspace closes it to itself alone.
func TestClosedWorkspace(t *testing.T) {
	s := newScene(t, func(c fake.Call) fake.Reply {
		dir := mounted(c, tools.WorkspaceTarget)
		info, err := os.Stat(dir)
		assert.NoError(t, err)
		assert.NoError(t, os.Chmod(dir, 0))
		return fake.Exit(0, fmt.Sprintf("%04o", info.Mode().Perm()), "")
	})
	c := s.client(t, nil)
	id := session(t, call(t, c, "shell_exec", args{"command": "x"}))
	assert.Equal(t, "0700\n", text(t, call(t, c, "shell_exec", args{"command": "x", "session_id": id})))
}
