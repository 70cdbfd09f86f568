package native

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// testBackend opens a backend as whoever runs the test.
func testBackend(t *testing.T) *Backend {
	t.Helper()
	b, err := Open(t.Context(), testConfig())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b.(*Backend)
}

func testConfig() Config {
	var c Config
	if os.Geteuid() != 0 {
		for _, g := range []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	return c
}

func command(script string) sandbox.Command {
	return sandbox.Command{Argv: []string{"sh", "-c", script}}
}

func (b *Backend) must(t *testing.T, script string) sandbox.Result {
	t.Helper()
	r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command(script))
	require.NoError(t, err)
	return r
}

// spawners are the processes of the backend's lanes.
func (b *Backend) spawners() []*lane {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	return append([]*lane(nil), b.lanes.list...)
}

// started is the end of a call that runs until something ends it.
type started struct {
	result sandbox.Result
	err    error
}

// begin starts n calls that do not end, waits until each runs, and returns their ends.
func (b *Backend) begin(t *testing.T, ctx context.Context, n int, p sandbox.ContainerProfile) <-chan started {
	t.Helper()
	ends, up := make(chan started, n), make(chan struct{}, n)
	for range n {
		go func() {
			c := command("echo up; exec sleep 1000")
			c.Stdout = signalWriter(up)
			r, err := b.Run(ctx, p, c)
			ends <- started{r, err}
		}()
	}
	for range n {
		select {
		case <-up:
		case s := <-ends:
			require.Fail(t, "a call ended too soon", "%+v", s)
		}
	}
	return ends
}

type signalWriter chan struct{}

// Write implements io.Writer.
func (w signalWriter) Write(p []byte) (int, error) {
	w <- struct{}{}
	return len(p), nil
}

// TestSpawnerKilled: the calls of a spawner that is killed fail as unavailable, nothing of them is left, and the next
// call has a new spawner.
func TestSpawnerKilled(t *testing.T) {
	b := testBackend(t)
	ends := b.begin(t, t.Context(), 4, sandbox.ContainerProfile{})
	old := b.spawners()
	pids := below(old)
	require.NotEmpty(t, pids, "the sandboxes' processes, seen from outside")
	for _, l := range old {
		require.NoError(t, syscall.Kill(l.process.pid, syscall.SIGKILL))
	}
	for range 4 {
		s := <-ends
		require.ErrorIs(t, s.err, sandbox.ErrUnavailable)
		var typed *sandbox.Error
		require.ErrorAs(t, s.err, &typed)
		assert.NotEmpty(t, typed.Fix)
	}
	for _, pid := range pids {
		assert.True(t, goneSoon(pid), "process %d outlived its spawner", pid)
	}
	assert.Equal(t, "again\n", string(b.must(t, "echo again").Stdout))
	for _, l := range b.spawners() {
		assert.NotContains(t, old, l)
	}
}

// below lists every process below the lanes' spawners.
func below(lanes []*lane) []int {
	var pids []int
	for _, l := range lanes {
		pids = append(pids, descendants(l.process.pid)...)
	}
	return pids
}

func descendants(pid int) []int {
	var out []int
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, l := range lists {
		data, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(f); err == nil {
				out = append(append(out, child), descendants(child)...)
			}
		}
	}
	return out
}

// goneSoon reports whether the process is gone or a zombie within a second.
func goneSoon(pid int) bool {
	for range 100 {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(data), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// stop stops every spawner of b, as a debugger or a freezer would.
func (b *Backend) stop(t *testing.T) []*lane {
	t.Helper()
	lanes := b.spawners()
	for _, l := range lanes {
		require.NoError(t, syscall.Kill(l.process.pid, syscall.SIGSTOP))
	}
	return lanes
}

// TestSpawnerStopped: a spawner that answers no more is given up after the call's time and a grace; its sandboxes go with
// it, and the next call has another.
func TestSpawnerStopped(t *testing.T) {
	b := testBackend(t)
	b.lanes.patience = 200 * time.Millisecond
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: time.Second}}
	ends := b.begin(t, t.Context(), 2, p)
	old := b.stop(t)
	pids := below(old)
	for range 2 {
		require.ErrorIs(t, (<-ends).err, sandbox.ErrUnavailable)
	}
	for _, pid := range pids {
		assert.True(t, goneSoon(pid), "process %d outlived its spawner", pid)
	}
	assert.Equal(t, "again\n", string(b.must(t, "echo again").Stdout))
}

// TestSpawnerStoppedBeforeTheCall: neither the request nor what root's mounts need before it waits for ever.
func TestSpawnerStoppedBeforeTheCall(t *testing.T) {
	b := testBackend(t)
	b.lanes.patience = 200 * time.Millisecond
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	b.must(t, "true")
	for _, binds := range [][]sandbox.Mount{nil, {{Source: dir, Target: "/work"}}} {
		b.stop(t)
		p := sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: 100 * time.Millisecond}, Binds: binds}
		_, err := b.Run(t.Context(), p, command("true"))
		require.ErrorIs(t, err, sandbox.ErrUnavailable)
		b.must(t, "true")
	}
}

// TestCancelWithStoppedSpawner: a context that ends is not made to wait for the call's deadline.
func TestCancelWithStoppedSpawner(t *testing.T) {
	b := testBackend(t)
	b.lanes.patience = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: time.Hour}}
	ends := b.begin(t, ctx, 1, p)
	b.stop(t)
	cancel()
	assert.Error(t, (<-ends).err) // it would be an hour
}

// TestLanesGrow: many callers at once get further spawners, as many as there are CPUs at most.
func TestLanesGrow(t *testing.T) {
	b := testBackend(t)
	b.must(t, "true")
	require.Len(t, b.spawners(), 1)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command("echo ok"))
			if assert.NoError(t, err) {
				assert.Equal(t, "ok\n", string(r.Stdout), "%+v", r)
			}
		})
	}
	wg.Wait()
	b.lanes.growth.Wait()
	n := len(b.spawners())
	t.Logf("%d lanes", n)
	assert.LessOrEqual(t, n, runtime.NumCPU())
	if runtime.NumCPU() > 1 {
		assert.Greater(t, n, 1, "64 callers waited for one spawner")
	}
	require.NoError(t, b.Close())
	for _, pid := range descendants(os.Getpid()) {
		assert.True(t, goneSoon(pid), "process %d is left", pid)
	}
}

// TestClose: what runs is canceled, closing twice is closing once, and afterwards every call is refused.
func TestClose(t *testing.T) {
	b := testBackend(t)
	ends := b.begin(t, t.Context(), 3, sandbox.ContainerProfile{})
	pids := below(b.spawners())
	require.NotEmpty(t, pids)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { assert.NoError(t, b.Close()) })
	}
	for range 3 {
		s := <-ends
		require.NoError(t, s.err)
		assert.Equal(t, sandbox.StatusCanceled, s.result.Status)
		assert.Equal(t, -1, s.result.ExitCode)
	}
	wg.Wait()
	for _, pid := range pids {
		assert.True(t, goneSoon(pid), "process %d is left", pid)
	}
	require.NoError(t, b.Close())
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command("true"))
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	require.Error(t, err)
	require.ErrorIs(t, b.Prepare(t.Context(), sandbox.ContainerProfile{}), sandbox.ErrUnavailable)
}

// TestRenamedSource: a directory that another one replaced after the check is not shown. A root caller has mounted it by
// then, so it shows what was checked; for any other the sandbox finds out and refuses.
func TestRenamedSource(t *testing.T) {
	b := testBackend(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	good, secret := filepath.Join(dir, "good"), filepath.Join(dir, "secret")
	for path, content := range map[string]string{good: "good\n", secret: "secret\n"} {
		require.NoError(t, os.Mkdir(path, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(path, "name"), []byte(content), 0o644))
	}
	ctx, id, leave, err := b.enter(t.Context())
	require.NoError(t, err)
	defer leave()
	p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: good, Target: "/work"}}}.WithDefaults()
	k, err := b.prepare(ctx, &call{b: b, id: id, profile: p, command: command("cat /work/name")}, nil)
	require.NoError(t, err)
	defer k.close()
	require.NoError(t, os.Rename(good, good+".old"))
	require.NoError(t, os.Rename(secret, good))
	end, err := k.run(ctx)
	require.NoError(t, err)
	r, err := k.result(end, 0)
	if os.Geteuid() == 0 {
		require.NoError(t, err)
		assert.Equal(t, "good\n", string(r.Stdout))
		return
	}
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var step *sandbox.SetupError
	require.True(t, errors.As(err, &step))
	assert.Empty(t, r.Stdout)
}
