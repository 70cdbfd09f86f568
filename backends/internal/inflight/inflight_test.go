package inflight

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestCloseEndsCallsAndWaits(t *testing.T) {
	var c Calls
	own, leave, err := c.Enter(t.Context())
	require.NoError(t, err)
	other, left, err := c.Enter(t.Context())
	require.NoError(t, err)
	left()
	require.ErrorIs(t, other.Err(), context.Canceled, "a call that has left")
	require.NoError(t, own.Err(), "the other one goes on")

	var gone bool
	go func() {
		<-own.Done()
		gone = true
		leave()
	}()
	assert.True(t, c.Close(), "the first one")
	assert.True(t, gone, "was waited for")
	assert.False(t, c.Close())
	_, _, err = c.Enter(t.Context())
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

func TestCallsEndWithTheirContext(t *testing.T) {
	var c Calls
	ctx, cancel := context.WithCancel(t.Context())
	own, leave, err := c.Enter(ctx)
	require.NoError(t, err)
	defer leave()
	cancel()
	require.ErrorIs(t, own.Err(), context.Canceled)
}
