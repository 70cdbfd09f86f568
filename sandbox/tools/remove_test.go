//go:build unix

package tools_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/tools"
)

// What programs do to a workspace does not keep it: directories deeper than a path may be long and a process may have
// files, unreadable ones, links that lead out.
func TestRemoveWorkspace(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "workspace")
	require.NoError(t, os.Mkdir(dir, 0o700))
	outside := filepath.Join(parent, "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d0"), 0o700))
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	limit := old
	limit.Cur = 256
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	defer func() { assert.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }()
	nest(t, filepath.Join(dir, "d0"), 1000)
	require.ErrorIs(t, os.RemoveAll(dir), syscall.EMFILE, "the control: it is too deep to be removed level by level")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "closed", "f"), nil, 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "closed"), 0))
	require.NoError(t, os.Chmod(dir, 0))

	require.NoError(t, tools.RemoveWorkspace(dir))
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "outside", entries[0].Name())
	require.NoError(t, tools.RemoveWorkspace(dir), "what is not there is no error")
	require.Error(t, tools.RemoveWorkspace(outside))
	assert.FileExists(t, outside)
}
