package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
)

// What a killed server left is removed by the next one; what a living one has, and what is no server's, is not.
func TestMakeDir(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "with [odd] *name")
	require.NoError(t, os.Mkdir(parent, 0o700))
	living, left, err := server.MakeDir(parent)
	require.NoError(t, err)
	require.NoError(t, left)
	assert.DirExists(t, living.Path)
	inner := filepath.Join(living.Path, "s_1", "workspace", "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o700))

	dead := filepath.Join(parent, "toolcell-mcp-dead")
	require.NoError(t, os.MkdirAll(filepath.Join(dead, "s_2", "workspace", "a"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dead, "s_2", "workspace", "a"), 0))
	empty := filepath.Join(parent, "toolcell-mcp-empty")
	require.NoError(t, os.Mkdir(empty, 0o700))
	somebodys := filepath.Join(parent, "toolcell-mcp-notes")
	require.NoError(t, os.MkdirAll(filepath.Join(somebodys, "mine"), 0o700))
	target := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(target, "lock"), nil, 0o600))
	require.NoError(t, os.Symlink(target, filepath.Join(parent, "toolcell-mcp-link")))

	next, left, err := server.MakeDir(parent)
	require.NoError(t, err)
	require.NoError(t, left)
	assert.NoDirExists(t, dead)
	assert.NoDirExists(t, empty)
	assert.DirExists(t, inner)
	assert.DirExists(t, filepath.Join(somebodys, "mine"))
	assert.FileExists(t, filepath.Join(target, "lock"))

	require.NoError(t, next.Close())
	require.NoError(t, living.Close())
	assert.NoDirExists(t, next.Path)
	assert.NoDirExists(t, living.Path)
	_, _, err = server.MakeDir(filepath.Join(parent, "missing"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
