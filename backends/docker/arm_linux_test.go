package docker

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/engines"
)

// armed has containers stand ready for calls under p.
func (r real) armed(t *testing.T, p sandbox.ContainerProfile, a sandbox.Arming) {
	t.Helper()
	require.NoError(t, r.Arm(t.Context(), p, a))
	require.Equal(t, a.Count, r.ArmedStats().Ready)
}

// served makes a call that has to find a container standing ready.
func (r real) served(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	t.Helper()
	before := r.ArmedStats()
	res, err := r.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Equal(t, before.Served+1, r.ArmedStats().Served, "%s %s", res.Stdout, res.Stderr)
	return res
}

func (r real) full(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return r.ArmedStats().Ready == n }, time.Minute, 10*time.Millisecond)
}

// A call that finds a container standing ready is as any other, and leaves nothing to the next one.
func TestRealArmed(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		r.armed(t, sandbox.ContainerProfile{}, sandbox.Arming{Count: 4, Once: true})
		var tap bytes.Buffer
		c := sh("cat; pwd; echo $X; echo err >&2; echo mine > /tmp/f; exit 7")
		c.Env, c.Dir, c.Stdin, c.Stdout = []string{"X=y"}, "/bin", strings.NewReader("in\n"), &tap
		p := sandbox.ContainerProfile{Env: []string{"X=z"}, Limits: sandbox.Limits{Wall: 20 * time.Second, OutputKB: 1}}
		res := r.served(t, p, c)
		assert.Equal(t, "in\n/bin\ny\n", string(res.Stdout))
		assert.Equal(t, "in\n/bin\ny\n", tap.String())
		assert.Equal(t, "err\n", string(res.Stderr))
		assert.Equal(t, 7, res.ExitCode)
		assert.True(t, res.Enforcement.Enforced(sandbox.LifeNoSurvivors))
		assert.NotNil(t, res.Usage.User)
		assert.Positive(t, *res.Usage.MaxMemory)

		shows := sh("ls /tmp; set -- /proc/[0-9]*; echo $#; cat /proc/self/mountinfo")
		first, second := r.served(t, sandbox.ContainerProfile{}, shows), r.served(t, sandbox.ContainerProfile{}, shows)
		assert.Regexp(t, "^home\n2\n", string(first.Stdout), "init and this script, and nothing that was there before")
		assert.NotEqual(t, string(first.Stdout), string(second.Stdout), "another container has another root")

		_, err := r.Run(t.Context(), sandbox.ContainerProfile{}, program("nosuch"))
		require.ErrorIs(t, err, sandbox.ErrNotFound)
		assert.Equal(t, ArmedStats{Served: 4}, r.ArmedStats())
		assert.Empty(t, r.containers(t))
		r.armed(t, sandbox.ContainerProfile{}, sandbox.Arming{Count: 1})
		require.NotEmpty(t, r.containers(t))
		require.NoError(t, r.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{}))
		assert.Empty(t, r.containers(t), "giving up waits for it")
	})
}

// Limits, signals and a canceled context end a call as they end any other.
func TestRealArmedStatuses(t *testing.T) {
	if !engines.Long() {
		t.Skip("in long runs: make test-engines")
	}
	most(t, func(t *testing.T, r real) {
		p := sandbox.ContainerProfile{TmpfsMB: 128, Limits: sandbox.Limits{MemoryMB: 32, CPUSeconds: 1, FileSizeMB: 128}}
		r.armed(t, p, sandbox.Arming{Count: 5, Once: true})
		slow := sh("echo so far; setsid sleep 999 & sleep 999")
		slow.Timeout = 300 * time.Millisecond
		for name, c := range map[sandbox.Status]sandbox.Command{
			sandbox.StatusTimeout: slow, sandbox.StatusCPUTimeout: sh("while :; do :; done"), sandbox.StatusSignaled: sh("kill -9 $$"),
			sandbox.StatusOOM: sh("dd if=/dev/zero of=/tmp/x bs=1M count=64; echo survived; sleep 600"),
		} {
			res := r.served(t, p, c)
			assert.Equal(t, name, res.Status)
			assert.NotContains(t, string(res.Stdout), "survived")
		}
		ctx, cancel := context.WithCancel(t.Context())
		read, write := io.Pipe()
		go func() {
			_, _ = bufio.NewReader(read).ReadString('\n')
			cancel()
		}()
		c := sh("echo running; sleep 999")
		c.Stdout = write
		before := r.ArmedStats().Served
		res, err := r.Run(ctx, p, c)
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusCanceled, res.Status)
		assert.Equal(t, before+1, r.ArmedStats().Served)
	})
}

// What was killed, what would be made otherwise by now, and what is for another profile serves no call.
func TestRealArmedDiffers(t *testing.T) {
	if !engines.Long() {
		t.Skip("in long runs: make test-engines")
	}
	most(t, func(t *testing.T, r real) {
		dir := publicTemp(t)
		at := dir + "/work"
		require.NoError(t, os.Mkdir(at, 0o755))
		p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: at, Target: "/work"}}}
		r.armed(t, p, sandbox.Arming{Count: 1})
		r.say(t, "kill", r.containers(t))
		assert.Equal(t, "", r.ok(t, p, sh("ls /work")))
		r.full(t, 1)

		require.NoError(t, os.Rename(at, dir+"/old"))
		require.NoError(t, os.Mkdir(at, 0o755))
		require.NoError(t, os.WriteFile(at+"/new", nil, 0o644))
		served := r.ArmedStats().Served
		assert.Equal(t, "new\n", r.ok(t, p, sh("ls /work")))
		r.ok(t, sandbox.ContainerProfile{PIDs: 9}, program("true"))
		assert.Equal(t, served, r.ArmedStats().Served)
		r.full(t, 1)
		r.say(t, "kill", r.containers(t))
		require.Eventually(t, func() bool { return r.ArmedStats().Ready == 0 }, time.Minute, 10*time.Millisecond, "it is noticed without a call")
		r.full(t, 1)
	})
}

// gVisor, which can have no sessions, has what stands ready: a container's own init waits.
func TestRealArmedRunsc(t *testing.T) {
	if !engines.Long() {
		t.Skip("in long runs: make test-engines")
	}
	r := openReal(t, engines.Docker)
	r.engine.RequireRunsc(t)
	p := sandbox.ContainerProfile{Runtime: engines.RunscRuntime, Limits: sandbox.Limits{Wall: time.Minute}}
	r.armed(t, p, sandbox.Arming{Count: 1, Once: true})
	assert.Equal(t, "65532\n", string(r.served(t, p, sh("id -u")).Stdout))
}
