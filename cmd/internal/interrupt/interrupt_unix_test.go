//go:build unix

package interrupt_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/internal/interrupt"
)

// send sends this process a signal.
func send(t *testing.T, s syscall.Signal) { require.NoError(t, syscall.Kill(os.Getpid(), s)) }

func TestContext(t *testing.T) {
	for want, s := range map[int]syscall.Signal{129: syscall.SIGHUP, 130: syscall.SIGINT, 143: syscall.SIGTERM} {
		ctx, stop := interrupt.Context(t.Context())
		assert.Zero(t, interrupt.Code(ctx))
		send(t, s)
		<-ctx.Done()
		assert.Equal(t, want, interrupt.Code(ctx), s)
		stop()
	}
	ctx, stop := interrupt.Context(t.Context())
	stop()
	assert.ErrorIs(t, ctx.Err(), context.Canceled)
	assert.Zero(t, interrupt.Code(ctx), "no signal ended it")
}

// What nohup has the command ignore does not end it.
func TestContextLeavesIgnoredSignals(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := interrupt.Context(t.Context())
	defer stop()
	send(t, syscall.SIGHUP)
	send(t, syscall.SIGTERM) // later, so that the other had its chance
	<-ctx.Done()
	assert.Equal(t, 143, interrupt.Code(ctx))
}
