//go:build !windows

package tools

import (
	"errors"
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

// Directories are removed in the background while there are not too many; Close waits for them and tells what failed.
func TestAheadRemovesLater(t *testing.T) {
	a := NewAhead(Keep{Count: 1})
	free := make(chan struct{})
	for range maxRemoving {
		require.True(t, a.later(func() error { <-free; return nil }))
	}
	assert.False(t, a.later(func() error { return nil }), "it is to be done at once")
	close(free)
	stuck := errors.New("stuck")
	require.Eventually(t, func() bool { return a.later(func() error { return stuck }) }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, a.Close(), stuck)
	assert.False(t, a.later(func() error { return nil }), "nobody would wait for it")
}
