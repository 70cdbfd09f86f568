package native

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
)

// unprepared makes the first call, after which the lane's one root may be prepared, but is not by itself.
func (b *Backend) unprepared(t *testing.T) (*lane, *root, confine.Root) {
	t.Helper()
	b.must(t, "true")
	l := b.spawners()[0]
	l.roots.mu.Lock()
	defer l.roots.mu.Unlock()
	require.Len(t, l.roots.list, 1)
	r := l.roots.list[0]
	r.asked = rootAfter
	return l, r, r.spec
}

// stopBuilder stops the process that prepares a root; 0 says that it was too quick.
func stopBuilder(t *testing.T, l *lane) int {
	t.Helper()
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		for _, pid := range children(t, l.process.pid) {
			if unix.Kill(pid, unix.SIGSTOP) == nil {
				return pid
			}
		}
	}
	return 0
}

// hostOnly are directories of the host that no sandbox has.
var hostOnly = []string{"/root", "/boot", "/home"}

// What prepares a root may be killed at any moment, as by the out-of-memory killer. Until it has said that it is done, the
// host's tree is in its namespace.
func TestKilledBuilderLeavesNoRoot(t *testing.T) {
	for _, dir := range hostOnly {
		require.DirExists(t, dir, "control")
	}
	undone := 0
	for range 40 {
		if undone == 5 {
			break
		}
		b := testBackend(t)
		l, r, want := b.unprepared(t)
		done := make(chan error, 1)
		go func() { done <- b.makeRoot(t.Context(), l, r, want) }()
		pid := stopBuilder(t, l)
		if pid == 0 {
			require.NoError(t, <-done)
			continue
		}
		time.Sleep(10 * time.Millisecond)
		_ = unix.Kill(pid, unix.SIGKILL) // unless it was done, and is gone
		err := <-done
		if err == nil {
			assert.NotNil(t, r.mounts, "it was done already")
		} else {
			undone++
			assert.Nil(t, r.mounts)
		}
		assert.Equal(t, "clean\n", string(b.must(t, "for d in "+strings.Join(hostOnly, " ")+"; do test ! -e $d || exit; done; echo clean").Stdout))
	}
	assert.Positive(t, undone, "some were killed in time")
}

// One that does not get on, as on a file system that does not answer, costs no other call anything.
func TestStuckBuilderIsLeftAlone(t *testing.T) {
	for range 40 {
		if stuckBuilder(t) {
			return
		}
	}
	t.Fatal("each was too quick to be stopped")
}

// stuckBuilder reports whether it could stop one.
func stuckBuilder(t *testing.T) bool {
	t.Helper()
	b := testBackend(t)
	b.lanes.patience = 300 * time.Millisecond
	l, r, want := b.unprepared(t)
	done := make(chan error, 1)
	go func() { done <- b.makeRoot(t.Context(), l, r, want) }()
	stopBuilder(t, l)
	b.must(t, "sleep 1")
	if <-done == nil {
		return false
	}
	assert.Nil(t, r.mounts)
	assert.True(t, l.alive())
	b.must(t, "true")
	require.Eventually(t, func() bool { return len(children(t, l.process.pid)) == 0 }, 20*time.Second, 10*time.Millisecond, "it was killed")
	return true
}
