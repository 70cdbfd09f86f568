//go:build unix

package fake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/fake"
)

// TestContract holds the fake to the part of the contract that needs no program.
func TestContract(t *testing.T) {
	conformance.RunContract(t, conformance.Suite{
		Open: func(*testing.T) sandbox.Backend {
			return &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }}
		},
		Probe: "/unused/probe",
	})
}

func TestScript(t *testing.T) {
	boom := errors.New("boom")
	b := fake.New(fake.Exit(3, "out", "err"), fake.Fail(boom))
	var tap strings.Builder
	res, err := b.Run(t.Context(), sandbox.ContainerProfile{PIDs: 7}, sandbox.Command{
		Argv: []string{"tool"}, Stdin: strings.NewReader("in"), Stdout: &tap, ID: "one",
	})
	require.NoError(t, err)
	assert.Equal(t, 3, res.ExitCode)
	assert.Equal(t, "out", string(res.Stdout))
	assert.Equal(t, "out", tap.String())
	assert.EqualValues(t, 3, res.StdoutBytes)
	assert.Equal(t, "one", res.ID)
	assert.Equal(t, "fake", res.Backend)

	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"tool"}})
	require.ErrorIs(t, err, boom)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"tool"}})
	require.ErrorIs(t, err, sandbox.ErrSetup, "a call without a reply is an error")

	calls := b.Calls()
	require.Len(t, calls, 3)
	assert.Equal(t, "in", string(calls[0].Stdin))
	assert.Equal(t, 7, calls[0].Profile.PIDs)
}

func TestOutputLimit(t *testing.T) {
	b := fake.New(fake.Exit(0, strings.Repeat("x", 3000), ""))
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{OutputKB: 1}}
	res, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"tool"}})
	require.NoError(t, err)
	assert.Len(t, res.Stdout, 1024)
	assert.True(t, res.StdoutTruncated)
	assert.EqualValues(t, 3000, res.StdoutBytes)
}

func TestBlockedCallEndsWithItsContextOrWithClose(t *testing.T) {
	b := fake.New(fake.Reply{Block: true}, fake.Reply{Block: true})
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan sandbox.Result, 2)
	start := func(ctx context.Context) {
		res, err := b.Run(ctx, sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"tool"}})
		assert.NoError(t, err)
		results <- res
	}
	go start(ctx)
	awaitCalls(t, b, 1)
	cancel()
	assert.Equal(t, sandbox.StatusCanceled, (<-results).Status)
	go start(t.Context())
	awaitCalls(t, b, 2)
	require.NoError(t, b.Close())
	assert.Equal(t, sandbox.StatusCanceled, (<-results).Status)
}

// awaitCalls waits until n calls reached the fake.
func awaitCalls(t *testing.T, b *fake.Backend, n int) {
	t.Helper()
	for len(b.Calls()) < n {
		require.NoError(t, t.Context().Err())
	}
}

func TestAbsentGuarantee(t *testing.T) {
	b := fake.New(fake.Exit(0, "", ""))
	b.Report = sandbox.Report{{Guarantee: sandbox.NetNone, Reason: "no namespaces", Fix: "allow them"}}
	p := sandbox.ContainerProfile{Require: []sandbox.Guarantee{sandbox.NetNone}}
	_, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"tool"}})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	assert.Empty(t, b.Calls())
}
