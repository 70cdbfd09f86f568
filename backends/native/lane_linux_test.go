package native

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// A lane that is given up takes no call while its process still ends, and its calls are told the first cause.
func TestFailedLane(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[1])
	conn, err := packetConn(pair[0])
	require.NoError(t, err)
	l := &lane{conn: conn, process: &process{pidfd: -1, done: make(chan struct{})}, pending: make(map[uint64]chan message)}
	ch, err := l.request(&wire.Request{Kind: wire.RequestRun, ID: 1}, nil)
	require.NoError(t, err)
	first, second := errors.New("the first"), errors.New("the second")
	require.True(t, l.giveUp(first))
	assert.False(t, l.alive())
	_, err = l.request(&wire.Request{Kind: wire.RequestRun, ID: 2}, nil)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	require.ErrorIs(t, err, first)
	l.fail(second)
	assert.Empty(t, ch, "the one who gave it up tells its calls, once the process has ended")

	l.mu.Lock()
	l.failed = nil
	l.mu.Unlock()
	close(l.process.done)
	l.fail(first)
	require.ErrorIs(t, (<-ch).err, first)
}
