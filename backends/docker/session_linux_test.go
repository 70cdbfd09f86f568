package docker

import (
	"bufio"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// openSession opens a session and closes it with the test.
func (r real) openSession(t *testing.T, o sandbox.SessionOptions) sandbox.Session {
	t.Helper()
	s, err := r.OpenSession(t.Context(), sandbox.ContainerProfile{Limits: sandbox.Limits{CPUSeconds: 2}}, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func say(t *testing.T, s sandbox.Session, script string) string {
	t.Helper()
	res, err := s.Run(t.Context(), sh(script))
	require.NoError(t, err)
	require.Equal(t, sandbox.StatusExited, res.Status, "%q", res.Stderr)
	return string(res.Stdout)
}

// Calls of a session share files and processes; each has a result, a deadline and a CPU budget of its own.
func TestRealSession(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		s := r.openSession(t, sandbox.SessionOptions{})
		report := s.Report()
		assert.False(t, report.Enforced(sandbox.LifeNoSurvivors), "what a session gives up is said")
		assert.True(t, report.Enforced(sandbox.FSReadonlyRoot))
		say(t, s, "echo kept > /tmp/f; sleep 777 >/dev/null 2>&1 &")
		assert.Equal(t, "kept\n", say(t, s, "cat /tmp/f"))
		running := "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done"
		assert.Contains(t, say(t, s, running), "sleep 777")

		res, err := s.Run(t.Context(), sh("exit 137"))
		require.NoError(t, err)
		assert.Equal(t, 137, res.ExitCode)
		c := sh("echo so far; setsid sleep 888 & sleep 888")
		c.Timeout = 500 * time.Millisecond
		res, err = s.Run(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusTimeout, res.Status)
		assert.Equal(t, "so far\n", string(res.Stdout))
		left := say(t, s, running)
		assert.NotContains(t, left, "sleep 888", "the killed call's processes are gone")
		assert.Contains(t, left, "sleep 777", "and no others")
		res, err = s.Run(t.Context(), sh("while :; do :; done"))
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusCPUTimeout, res.Status)
		assert.Equal(t, "still\n", say(t, s, "echo still"))

		require.NoError(t, s.Close())
		assert.NoError(t, s.Err())
		_, err = s.Run(t.Context(), sh("true"))
		assert.ErrorIs(t, err, sandbox.ErrUnavailable)
		assert.Empty(t, r.containers(t))
	})
}

// A call that is canceled is gone, and the session goes on; a session without calls, or whose call nobody can answer for,
// ends.
func TestRealSessionEnds(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		s := r.openSession(t, sandbox.SessionOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		read, write := io.Pipe()
		go func() {
			_, _ = bufio.NewReader(read).ReadString('\n')
			cancel()
		}()
		c := sh("echo running; sleep 888")
		c.Stdout = write
		res, err := s.Run(ctx, c)
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusCanceled, res.Status)
		assert.Equal(t, "still\n", say(t, s, "echo still"))

		// The call's init is the program's to kill, and with it goes the certainty.
		_, _ = s.Run(t.Context(), sh("kill -9 $PPID; sleep 1"))
		select {
		case <-s.Ended():
			assert.Error(t, s.Err())
		case <-time.After(time.Minute):
			assert.Fail(t, "the session goes on")
		}
		assert.Empty(t, r.containers(t))

		idle := r.openSession(t, sandbox.SessionOptions{Idle: 100 * time.Millisecond})
		select {
		case <-idle.Ended():
			assert.ErrorContains(t, idle.Err(), "100ms")
		case <-time.After(time.Minute):
			assert.Fail(t, "it is idle for ever")
		}
	})
}

// A call whose program is killed for memory takes what it left running along, and nothing of the calls before it.
func TestRealSessionMemory(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		s, err := r.OpenSession(t.Context(), sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 64}}, sandbox.SessionOptions{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, s.Close()) })
		say(t, s, "sleep 777 >/dev/null 2>&1 &")
		res, err := s.Run(t.Context(), sh(`sleep 888 >/dev/null 2>&1 & exec awk 'BEGIN { s = "x"; while (1) s = s s }'`))
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusOOM, res.Status)
		left := say(t, s, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done")
		assert.Contains(t, left, "sleep 777")
		assert.NotContains(t, left, "sleep 888")
	})
}
