package engines_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/engines"
)

// files counts what is in the directory for temporary files.
func files(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// calls is how many calls the leak test makes: 24, or 200 with TOOLCELL_TEST_LONG=1.
func calls() int {
	if engines.Long() {
		return 200
	}
	return 24
}

// Many calls at eight in parallel, a third of them canceled at a random moment, leave no container, no volume and no
// temporary file.
func TestNothingIsLeft(t *testing.T) {
	onBackends(t, func(t *testing.T, e *engines.Engine) {
		t.Setenv("TMPDIR", t.TempDir())
		image := e.Load(t, engines.Volume()) // an anonymous volume would be left too
		before, beforeFiles := state(t, e), files(t)
		b := open(t, e)
		statuses := flood(t, b, image)
		t.Logf("%d calls, of those that returned a result: %v", calls(), statuses)
		assert.Positive(t, statuses[sandbox.StatusExited])
		assert.Positive(t, statuses[sandbox.StatusCanceled])
		assert.Equal(t, before, state(t, e))
		require.NoError(t, b.Close())
		left := files(t)
		t.Logf("containers and volumes before %q, after %q; temporary files before %d, after %d", before, state(t, e), len(beforeFiles), len(left)-len(testFiles(left)))
		assert.Subset(t, append(beforeFiles, testFiles(left)...), left)
	})
}

// testFiles returns those of names that are this test's own: the helper's directory.
func testFiles(names []string) []string {
	var own []string
	for _, n := range names {
		if strings.HasPrefix(n, "toolcell-test-") {
			own = append(own, n)
		}
	}
	return own
}

// flood makes the calls and counts how they ended.
func flood(t *testing.T, b *docker.Backend, image string) map[sandbox.Status]int {
	statuses := map[sandbox.Status]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	turn := make(chan struct{}, 8)
	for i := range calls() {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := sh(fmt.Sprintf("exit %d", i%100))
			switch i % 6 {
			case 0: // when the program runs
				c = sh("echo up; sleep 999")
				c.Stdout = onWrite(cancel)
			case 3: // at a moment of the making, the running or the removing
				time.AfterFunc(rand.N(3*time.Second), cancel)
			}
			res, err := b.Run(ctx, sandbox.ContainerProfile{Image: image}, c)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				statuses[res.Status]++
			case ctx.Err() == nil:
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	return statuses
}

// onWrite is called when something is written.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// A daemon that is stopped in the middle of a call ends the call with an error or a Result, never with a hang, and the
// backend works again when the daemon does.
func TestDaemonStops(t *testing.T) {
	pool.Start(t, engines.Docker) // or skip
	var own engines.Pool
	e := own.Start(t, engines.Docker)
	defer func() { assert.NoError(t, own.Stop()) }()
	b := open(t, e)
	dir, p := workspace(t)
	done := make(chan error, 1)
	go func() {
		res, err := b.Run(t.Context(), p, sh("touch /work/running; sleep 999"))
		if err == nil && res.Status == sandbox.StatusExited && res.ExitCode == 0 {
			err = fmt.Errorf("a program that was ended is said to have succeeded: %+v", res)
		} else {
			t.Logf("%v %v", res.Status, err)
			err = nil
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return exists(dir, "running") }, time.Minute, 20*time.Millisecond)
	require.NoError(t, e.Restart())
	select {
	case err := <-done:
		assert.NoError(t, err)
	case <-time.After(time.Minute):
		require.Fail(t, "the call hangs")
	}
	res, err := b.Run(t.Context(), p, sh("echo again"))
	require.NoError(t, err)
	assert.Equal(t, "again\n", string(res.Stdout))
}

// hanging is a socket that takes connections and never answers.
func hanging(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return "unix://" + path
}

// What cannot answer is told apart, says what to do, and creates nothing.
func TestNoDaemon(t *testing.T) {
	e := pool.Start(t, engines.Docker)
	for name, env := range map[string][2]string{
		"hanging": {"DOCKER_HOST", hanging(t)},
		"nobody":  {"DOCKER_HOST", "unix:///nonexistent/docker.sock"},
		"scheme":  {"DOCKER_HOST", "bogus://x"},
		"context": {"DOCKER_CONTEXT", "no-such-context"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", "")
			t.Setenv("DOCKER_CONTEXT", "")
			t.Setenv(env[0], env[1])
			begin := time.Now()
			_, err := docker.Open(t.Context(), docker.Config{Binary: e.Binary, Helper: self(t), ProbeTimeout: 3 * time.Second})
			require.ErrorIs(t, err, sandbox.ErrUnavailable)
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			assert.NotEmpty(t, typed.Fix)
			t.Logf("after %s: %v; fix: %s", time.Since(begin).Round(time.Millisecond), err, typed.Fix)
		})
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}
