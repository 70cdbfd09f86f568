//go:build !windows

package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// The operator's configuration says what an agent may, and is none of the agent's files, though a root holds it.
func TestProtectedFiles(t *testing.T) {
	ts := set(t, fake.New())
	ws := ts.Workspace
	file := filepath.Join(ws, "gateway", "config.yaml")
	put(t, ws, "gateway/config.yaml", "key: secret")
	require.NoError(t, os.Symlink("gateway", filepath.Join(ws, "dir")))
	require.NoError(t, os.Symlink("gateway/config.yaml", filepath.Join(ws, "link")))
	require.NoError(t, os.Link(file, filepath.Join(ws, "hard")))
	for _, path := range []string{"gateway/config.yaml", "dir/config.yaml", "link", "hard", file, "/workspace/gateway/../link"} {
		ts.Protected = nil
		c, err := ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		require.NoError(t, err)
		require.Equal(t, "key: secret", c.Content, "the way is there")
		ts.Protected = []string{filepath.Join(ws, "absent"), file}
		_, err = ts.ReadFile(t.Context(), tools.ReadArgs{Path: path})
		assert.ErrorIs(t, err, sandbox.ErrRefused, "read %s", path)
		_, err = ts.WriteFile(t.Context(), tools.WriteArgs{Path: path, Content: "runtime: {sandbox: {mode: unsandboxed}}"})
		assert.ErrorIs(t, err, sandbox.ErrRefused, "write %s", path)
		assert.True(t, tools.Final(err))
	}
	assert.Equal(t, "key: secret", read(t, file))
	assert.Equal(t, []string{"config.yaml"}, names(t, filepath.Dir(file)))
	_, err := ts.WriteFile(t.Context(), tools.WriteArgs{Path: "gateway/other", Content: "x"})
	assert.NoError(t, err)
}
