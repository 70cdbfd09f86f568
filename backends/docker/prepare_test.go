package docker

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// Prepare fetches what is missing, says how it goes, and does nothing else. A call never fetches.
func TestPrepare(t *testing.T) {
	f := newFake()
	var progress bytes.Buffer
	b := openFake(t, f, func(c *Config) { c.Progress = &progress })
	pulls := func() int {
		return len(slices.DeleteFunc(f.verbs(), func(v string) bool { return v != "pull" }))
	}
	require.NoError(t, b.Prepare(t.Context(), sandbox.ContainerProfile{}))
	assert.Zero(t, pulls(), "it is there")

	f.set(map[string]string{"image": "No such image"})
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{Image: "other"}, program("x"))
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	assert.Zero(t, pulls(), "a call fetches nothing")
	f.onPull = func() { f.set(nil) }
	require.NoError(t, b.Prepare(t.Context(), sandbox.ContainerProfile{Image: "other"}))
	assert.Equal(t, 1, pulls())
	assert.Equal(t, "layer 1: done\n", progress.String())

	f.set(map[string]string{"image": "No such image", "pull": "unreachable"})
	err = b.Prepare(t.Context(), sandbox.ContainerProfile{Image: "third"})
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
	assert.ErrorContains(t, err, "unreachable")
	assert.NotEmpty(t, typed.Fix)
	assert.ErrorIs(t, b.Prepare(t.Context(), sandbox.ContainerProfile{PIDs: -1}), sandbox.ErrInvalid)
}

// What the native backend calls this machine's programs is asked of no registry.
func TestPrepareHost(t *testing.T) {
	f := newFake()
	f.set(map[string]string{"image": "No such image"})
	err := openFake(t, f).Prepare(t.Context(), sandbox.ContainerProfile{Image: "host"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	assert.NotContains(t, f.verbs(), "pull")
}
