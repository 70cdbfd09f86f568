package cgroup

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// TestNothingStays makes 10,000 groups (a tenth with -short), 64 at once, of three shapes, some with a process, and looks for what they leave.
func TestNothingStays(t *testing.T) {
	open(t)
	const workers = 64
	each := 157
	if testing.Short() {
		each = 16
	}
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	m, err := Open(Config{})
	require.NoError(t, err)
	idle := descriptors(t)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				l := Limits{MemoryBytes: 64 << 20, PIDs: int64(16 + i%3), CPUs: 1}
				if i%50 == 7 {
					l.CPUs = 0
				}
				g, err := m.Acquire(l)
				if !assert.NoError(t, err) {
					return
				}
				if (w+i)%100 == 0 {
					assert.Zero(t, run(t, "sleep 1", g).ExitCode())
				}
				_, err = g.Usage()
				assert.NoError(t, err)
				g.Release()
				assert.Less(t, backlog(m), maxBacklog+workers)
			}
		})
	}
	all.Wait()
	require.Eventually(t, func() bool { return groups(t, m) <= 2*defaultAhead }, 60*time.Second, 10*time.Millisecond)
	files := 1 // the out-of-memory event
	for _, h := range m.found {
		files += 2 // to join, and the CPU time or v2's directory
		for _, c := range h.controllers {
			files += len(c.reads)
		}
	}
	assert.LessOrEqual(t, descriptors(t), idle+2*defaultAhead*files)
	require.NoError(t, m.Close())
	for _, h := range m.found {
		assert.NoDirExists(t, h.inst.root.Name())
	}
	assert.LessOrEqual(t, descriptors(t), fds)
	for i := 0; i < 1000 && runtime.NumGoroutine() > goroutines; i++ {
		time.Sleep(10 * time.Millisecond) // children's pipes are closed by goroutines of their own
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	assert.NoError(t, m.Close(), "a second Close does nothing")
}

func backlog(m *Manager) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.leaving)
}

// groups is the largest number of call directories in any hierarchy.
func groups(t *testing.T, m *Manager) (most int) {
	t.Helper()
	for _, h := range m.found {
		names, err := h.inst.children()
		require.NoError(t, err)
		most = max(most, len(names))
	}
	return most
}

// TestCloseDuringAcquire closes while others acquire: every one gets a group or the error, and no directory stays.
func TestCloseDuringAcquire(t *testing.T) {
	m := open(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for {
				g, err := m.Acquire(Limits{PIDs: 16, MemoryBytes: 64 << 20})
				if err != nil {
					assert.ErrorIs(t, err, os.ErrClosed)
					return
				}
				g.Release()
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	assert.NoError(t, m.Close())
	all.Wait()
}

// BenchmarkGroup prints what a call pays for a group that is ready, for one that is not, and for giving it back.
func BenchmarkGroup(b *testing.B) {
	l := Limits{MemoryBytes: 64 << 20, PIDs: 64, CPUs: 1}
	other := Limits{MemoryBytes: 32 << 20, PIDs: 32, CPUs: 1}
	for _, c := range []struct {
		name     string
		ahead    int
		prepared Limits
	}{{"ready", 4, l}, {"rewritten", 4, other}, {"made", -1, l}} {
		b.Run(c.name, func(b *testing.B) {
			m, err := Open(Config{Ahead: c.ahead})
			require.NoError(b, err)
			defer m.Close()
			var acquire, release time.Duration
			for b.Loop() {
				require.NoError(b, m.Prepare(c.prepared))
				time.Sleep(2 * time.Millisecond)
				start := time.Now()
				g, err := m.Acquire(l)
				acquire += time.Since(start)
				require.NoError(b, err)
				start = time.Now()
				g.Release()
				release += time.Since(start)
			}
			b.ReportMetric(float64(acquire.Microseconds())/float64(b.N), "us/acquire")
			b.ReportMetric(float64(release.Microseconds())/float64(b.N), "us/release")
		})
	}
}
