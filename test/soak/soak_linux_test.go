package soak_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
)

func TestMain(m *testing.M) {
	spawner.Main()
	if marker := os.Getenv(callerVariable); marker != "" {
		caller(marker)
	}
	os.Exit(m.Run())
}

// full reports whether the long form was asked for.
func full() bool { return os.Getenv("TOOLCELL_TEST_SOAK") == "full" }

func pick[T any](long, short T) T {
	if full() {
		return long
	}
	return short
}

// idCount is how many host ids one run of these tests has.
const idCount = 1 << 14

// idBase is the first of them, apart from every other instance's and from those of a run at the same time.
func idBase(pid int) uint32 { return 1887436800 + uint32(pid%4096)*idCount }

// config is the backend's. An ordinary user's host may have no cgroups to give.
func config(parent string, pid int) native.Config {
	c := native.Config{CgroupParent: parent, IDBase: idBase(pid), IDCount: idCount}
	if os.Geteuid() != 0 {
		for _, g := range []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	return c
}

// exercise makes one call, of a few kinds by turns, and checks what came of it.
func exercise(ctx context.Context, b sandbox.Backend, dir string, n int) error {
	p, c := sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}}
	status, stdout := sandbox.StatusExited, ""
	switch n % 8 {
	case 1:
		p.Binds = []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}
		c.Argv, stdout = []string{"sh", "-c", "echo $$ > /work/$1 && rm /work/$1 && echo ok", "sh", fmt.Sprint(n)}, "ok\n"
	case 3: // orphans that keep the output open, which takes its time
		if n%40 != 3 {
			break
		}
		c.Argv, stdout = []string{"sh", "-c", "(sleep 100 &) ; echo left"}, "left\n"
	case 5:
		c.Argv, c.Timeout, status = []string{"sleep", "100"}, 20*time.Millisecond, sandbox.StatusTimeout
	case 6: // a program that does not exist
		_, err := b.Run(ctx, p, sandbox.Command{Argv: []string{"/nonexistent"}})
		if err == nil {
			return fmt.Errorf("a program that does not exist ran")
		}
		return nil
	case 7: // a mount that is refused
		p.Binds = []sandbox.Mount{{Source: dir + "/nonexistent", Target: "/work"}}
		if _, err := b.Run(ctx, p, c); err == nil {
			return fmt.Errorf("a mount that does not exist was shown")
		}
		return nil
	}
	r, err := b.Run(ctx, p, c)
	if err != nil {
		return err
	}
	if r.Status != status || string(r.Stdout) != stdout {
		return fmt.Errorf("call %d: %s, exit %d, signal %q, stdout %q, stderr %q, hints %q", n, r.Status, r.ExitCode, r.Signal, r.Stdout, r.Stderr, r.Hints)
	}
	return nil
}

// workspace is a directory that sandboxes may write in.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// warm makes calls until everything that a backend keeps is there.
func warm(t *testing.T, b sandbox.Backend, dir string) {
	t.Helper()
	for n := range 64 {
		require.NoError(t, exercise(t.Context(), b, dir, n))
	}
}

// TestSoakCallsInARow: after many calls nothing is more than before, and memory is flat.
func TestSoakCallsInARow(t *testing.T) {
	dir := workspace(t)
	c := newCounter(t)
	calls := pick(10_000, 1_000)
	before := c.now(t)
	b, err := native.Open(t.Context(), config(c.parent, os.Getpid()))
	require.NoError(t, err)
	warm(t, b, dir)
	held, heap, rss := c.settled(t, before), objects(), resident(t, os.Getpid())
	for n := range calls {
		require.NoError(t, exercise(t.Context(), b, dir, n))
	}
	after := c.settled(t, held)
	grown := objects() - heap
	t.Logf("%d calls: %+v, then %+v; %d objects more; resident %d KiB, then %d KiB", calls, held, after, grown, rss, resident(t, os.Getpid()))
	assert.Less(t, grown, int64(calls)/2, "objects on the heap")
	assert.LessOrEqual(t, after.Descriptors, held.Descriptors+8, "descriptors while it is open")
	assert.LessOrEqual(t, after.Below, held.Below+4, "the spawners' descriptors while they run")
	assert.LessOrEqual(t, after.Goroutines, held.Goroutines+4, "goroutines while it is open")
	for _, pid := range descendants(os.Getpid()) {
		assert.Less(t, resident(t, pid), 128<<10, "the spawner's memory in KiB")
	}
	require.NoError(t, b.Close())
	c.nothingMore(t, before, "after Close")
}

// TestSoakManyCallers: the same for 64 callers at once.
func TestSoakManyCallers(t *testing.T) {
	dir := workspace(t)
	c := newCounter(t)
	before := c.now(t)
	b, err := native.Open(t.Context(), config(c.parent, os.Getpid()))
	require.NoError(t, err)
	callers(t, b, dir, time.Now().Add(time.Second)) // what 64 at once need, is there from then on
	heap := objects()
	calls := callers(t, b, dir, time.Now().Add(pick(time.Minute, 6*time.Second)))
	grown := objects() - heap
	t.Logf("%d calls by 64 callers; %d objects more; resident %d KiB", calls, grown, resident(t, os.Getpid()))
	require.NoError(t, b.Close())
	c.nothingMore(t, before, "after Close")
	assert.Less(t, objects()-heap, max(calls/2, 400), "objects on the heap")
}

// callers makes calls from 64 goroutines until then and returns how many.
func callers(t *testing.T, b sandbox.Backend, dir string, until time.Time) int64 {
	t.Helper()
	var calls atomic.Int64
	var wg sync.WaitGroup
	for who := range 64 {
		wg.Go(func() {
			for n := who + who*1_000_000; time.Now().Before(until); n++ {
				if !assert.NoError(t, exercise(context.Background(), b, dir, n)) {
					return
				}
				calls.Add(1)
			}
		})
	}
	wg.Wait()
	return calls.Load()
}

// TestSoakProfiles: what a backend keeps of profiles that are used once does not add up.
func TestSoakProfiles(t *testing.T) {
	c := newCounter(t)
	before := c.now(t)
	b, err := native.Open(t.Context(), config(c.parent, os.Getpid()))
	require.NoError(t, err)
	for n := range pick(1_000, 150) {
		p := sandbox.ContainerProfile{TmpfsMB: 1 + n}
		r, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"true"}})
		require.NoError(t, err)
		require.Zero(t, r.ExitCode)
	}
	held := c.settled(t, count{})
	t.Logf("%+v", held)
	assert.Less(t, held.Memfds, 40, "plans kept")
	require.NoError(t, b.Close())
	c.nothingMore(t, before, "after Close")
}
