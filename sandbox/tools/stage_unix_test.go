//go:build !windows

package tools

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// What a killed process left is removed, and nothing that is used, new, or somebody's own.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	aged := func(dir string) string {
		then := time.Now().Add(-2 * sweepAge)
		require.NoError(t, os.Chtimes(dir, then, then))
		return dir
	}
	make := func() *stage {
		s, err := newStage(temp, "main.py", "pass", sandbox.UserSpec{Auto: true})
		require.NoError(t, err)
		return s
	}
	left, used, fresh := make(), make(), make()
	require.NoError(t, os.WriteFile(filepath.Join(left.outputDir(), "f"), []byte("x"), 0o600))
	require.NoError(t, left.held.Close()) // as its process's end does
	require.NoError(t, fresh.held.Close())
	aged(left.dir)
	aged(used.dir)
	open := filepath.Join(temp, stagePrefix+"open")
	require.NoError(t, os.Mkdir(open, 0o755))
	aged(open)
	outside := t.TempDir()
	link := filepath.Join(temp, stagePrefix+"link")
	require.NoError(t, os.Symlink(outside, link))

	sweep(temp)
	assert.NoDirExists(t, left.dir)
	assert.DirExists(t, used.dir)
	assert.DirExists(t, fresh.dir)
	assert.DirExists(t, open)
	assert.DirExists(t, outside)
	require.NoError(t, used.end())
	require.NoError(t, fresh.end())
}
