package soak_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// TestSoakEveryKind: a hundred thousand calls of every kind there is (cold, in namespaces made ahead, in sandboxes that stood
// ready, with a Python that did, failing, killed) leave nothing behind.
func TestSoakEveryKind(t *testing.T) {
	dir := workspace(t)
	c := newCounter(t)
	before := c.now(t)
	conf := config(c.parent, os.Getpid())
	conf.NamespacesAhead = true
	opened, err := native.Open(t.Context(), conf)
	require.NoError(t, err)
	b := opened.(*native.Backend)
	armings := []sandbox.Arming{{Count: 2}, {Count: 1, Like: pythonCall(""), Interpreter: sandbox.InterpreterPython}}
	for _, a := range armings {
		require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, a))
	}
	warm(t, b, dir)
	held, heap := c.settled(t, before), objects()
	calls := manyCalls(t)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for n := made.Add(1); n <= calls; n = made.Add(1) {
				if !assert.NoError(t, oneOfEveryKind(t, b, dir, int(n))) {
					return
				}
			}
		})
	}
	wg.Wait()
	stats := b.ArmedStats()
	after := c.settled(t, held)
	grown := objects() - heap
	t.Logf("%d calls, %d of them in what stood ready: %+v, then %+v; %d objects more; resident %d KiB", calls, stats.Served, held, after, grown, resident(t, os.Getpid()))
	assert.Positive(t, stats.Served)
	assert.Positive(t, stats.InNamespaces)
	assert.Less(t, grown, int64(10_000), "objects on the heap, however many calls are made")
	assert.LessOrEqual(t, after.Mounts, held.Mounts, "mounts")
	assert.LessOrEqual(t, after.Files, held.Files, "files")
	// What is kept for the next call has a bound of its own: roots and plans of every kind, cgroups, what stands ready.
	assert.Less(t, after.Descriptors, held.Descriptors+150, "descriptors")
	assert.Less(t, after.Below, held.Below+100, "the spawners' descriptors")
	assert.Less(t, after.Goroutines, held.Goroutines+50, "goroutines")
	for _, pid := range descendants(os.Getpid()) {
		assert.Less(t, resident(t, pid), 128<<10, "a spawner's memory in KiB")
	}
	require.NoError(t, b.Close())
	c.nothingMore(t, before, "after Close")
}

// manyCalls is how many calls are made, TOOLCELL_TEST_CALLS if it is set.
func manyCalls(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("TOOLCELL_TEST_CALLS")
	if text == "" {
		return pick[int64](100_000, 600)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, "TOOLCELL_TEST_CALLS")
	return n
}

func pythonCall(in string) sandbox.Command {
	return sandbox.Command{Argv: []string{"/usr/bin/python3", "-c", "import sys; print(sys.stdin.read() + '!')"}, Stdin: strings.NewReader(in)}
}

// oneOfEveryKind makes one call; each hundredth is one of Python's.
func oneOfEveryKind(t *testing.T, b sandbox.Backend, dir string, n int) error {
	t.Helper()
	if n%100 != 0 {
		return exercise(t.Context(), b, dir, n)
	}
	r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, pythonCall("in"))
	if err == nil {
		assert.Equal(t, "in!\n", string(r.Stdout), "%s %s", r.Status, r.Stderr)
	}
	return err
}
