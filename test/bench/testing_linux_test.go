package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAsTest(t *testing.T) {
	require.NoError(t, asTest(func(t testing.TB) { require.Len(t, []int{1}, 1) }))
	went := false
	err := asTest(func(t testing.TB) {
		require.Len(t, []int{1}, 2, "two of them")
		went = true
	})
	require.ErrorContains(t, err, "two of them")
	assert.False(t, went, "what ends a test ends this")
	require.EqualError(t, asTest(func(t testing.TB) { t.Skip("no docker here") }), "no docker here")
	require.Error(t, asTest(func(t testing.TB) { t.FailNow() }))
}
