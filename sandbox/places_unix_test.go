//go:build unix

package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// Places are what they were when they were looked at, and none are no licence.
func TestPlaces(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := sandbox.Mount{Source: dir, Target: "/x"}
	_, err = (&sandbox.Places{}).Resolve(m)
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var none *sandbox.Places
	_, err = none.Resolve(m)
	require.ErrorIs(t, err, sandbox.ErrRefused)

	h := sandbox.LookAtPlaces()
	at, err := h.Resolve(m)
	require.NoError(t, err)
	assert.Equal(t, dir, at)
	_, err = h.Resolve(sandbox.Mount{Source: "/etc", Target: "/x"})
	require.Error(t, err)
	_, err = h.Resolve(m, filepath.Join(dir, "inside"))
	require.ErrorIs(t, err, sandbox.ErrRefused, "what is protected is looked at each time")

	t.Setenv("HOME", filepath.Join(dir, "home"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "home"), 0o700))
	_, err = h.Resolve(m)
	require.NoError(t, err, "it came up later")
	_, err = sandbox.LookAtPlaces().Resolve(m)
	require.ErrorIs(t, err, sandbox.ErrInvalid)
}
