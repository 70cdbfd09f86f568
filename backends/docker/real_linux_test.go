package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/engines"
)

func sh(script string) sandbox.Command {
	return sandbox.Command{Argv: []string{"/bin/sh", "-c", script}}
}

// ok runs a command and returns what it says.
func (r real) ok(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) string {
	t.Helper()
	res, err := r.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Equal(t, sandbox.StatusExited, res.Status, "%q %q", res.Stderr, res.Hints)
	require.Zero(t, res.ExitCode, "%q %q", res.Stdout, res.Stderr)
	return string(res.Stdout)
}

// A program's own codes and signals are told from the engine's.
func TestRealStatuses(t *testing.T) {
	each(t, func(t *testing.T, r real) {
		for script, want := range map[string]sandbox.Result{
			"exit 125": {Status: sandbox.StatusExited, ExitCode: 125}, "exit 126": {Status: sandbox.StatusExited, ExitCode: 126},
			"exit 127": {Status: sandbox.StatusExited, ExitCode: 127}, "exit 137": {Status: sandbox.StatusExited, ExitCode: 137},
			"kill -9 $$":  {Status: sandbox.StatusSignaled, ExitCode: -1, Signal: "SIGKILL"},
			"kill -11 $$": {Status: sandbox.StatusSignaled, ExitCode: -1, Signal: "SIGSEGV"},
			"dd if=/dev/zero of=/tmp/x bs=1M count=20": {Status: sandbox.StatusFileSize, ExitCode: -1, Signal: "SIGXFSZ"},
			"while :; do :; done":                      {Status: sandbox.StatusCPUTimeout, ExitCode: -1},
		} {
			p := sandbox.ContainerProfile{Limits: sandbox.Limits{CPUSeconds: 1, FileSizeMB: 4}}
			res, err := r.Run(t.Context(), p, sh(script))
			require.NoError(t, err, script)
			assert.Equal(t, want.Status, res.Status, script)
			assert.Equal(t, want.ExitCode, res.ExitCode, script)
			assert.Equal(t, want.Signal, res.Signal, script)
		}
		for name, kind := range map[string]error{"nosuch": sandbox.ErrNotFound, "/tmp": sandbox.ErrNotExecutable} {
			_, err := r.Run(t.Context(), sandbox.ContainerProfile{}, program(name))
			assert.ErrorIs(t, err, kind)
		}
	})
}

// Out of memory the whole tree dies, and what the survivors say is not passed on.
func TestRealMemory(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		p := sandbox.ContainerProfile{TmpfsMB: 256, ShmMB: 256, Limits: sandbox.Limits{MemoryMB: 32, FileSizeMB: 256}}
		res, err := r.Run(t.Context(), p, sh("dd if=/dev/zero of=/dev/shm/x bs=1M count=128; echo survived; sleep 600"))
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusOOM, res.Status)
		assert.NotContains(t, string(res.Stdout), "survived")
		p.Limits.MemoryMB = leastMemoryMB
		p.PIDs = 1
		r.ok(t, p, program("true"))
	})
}

// The process limit is the program's alone, to the process.
func TestRealProcesses(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		p := sandbox.ContainerProfile{PIDs: 8}
		assert.Equal(t, "fine\n", r.ok(t, p, sh("for i in 1 2 3 4 5 6 7; do sleep 1 & done; wait; echo fine")))
		res, err := r.Run(t.Context(), p, sh("for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait"))
		require.NoError(t, err)
		assert.Contains(t, string(res.Stderr), "fork")
		assert.Contains(t, res.Hints, "8 processes reached")
	})
}

// The deadline and the caller's context end a call, with what it had said, and nothing is left.
func TestRealEndings(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		res, err := r.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{
			Argv: []string{"/bin/sh", "-c", "trap '' TERM; echo so far; setsid sleep 999 & sleep 999"}, Timeout: 500 * time.Millisecond,
		})
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusTimeout, res.Status)
		assert.Equal(t, "so far\n", string(res.Stdout))
		assert.Empty(t, r.containers(t))

		ctx, cancel := context.WithCancel(t.Context())
		read, write := io.Pipe()
		go func() {
			_, _ = bufio.NewReader(read).ReadString('\n')
			cancel()
			_, _ = io.Copy(io.Discard, read)
		}()
		res, err = r.Run(ctx, sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo running; sleep 999"}, Stdout: write})
		require.NoError(t, err)
		assert.Equal(t, sandbox.StatusCanceled, res.Status)
		assert.Equal(t, "running\n", string(res.Stdout))
		assert.Empty(t, r.containers(t))
	})
}

// Input of any size goes in while output comes out, and nobody has to read it.
func TestRealStreams(t *testing.T) {
	each(t, func(t *testing.T, r real) {
		const size = 20 << 20
		c := sh("wc -c; cat /dev/stdin; echo err >&2; echo more > /dev/stderr")
		c.Stdin = io.LimitReader(zeros{}, size)
		res, err := r.Run(t.Context(), sandbox.ContainerProfile{}, c)
		require.NoError(t, err)
		assert.Equal(t, "20971520\n", string(res.Stdout))
		assert.Equal(t, "err\nmore\n", string(res.Stderr))
		c = sh("head -c 3 | wc -c")
		c.Stdin = zeros{}
		assert.Equal(t, "3\n", r.ok(t, sandbox.ContainerProfile{}, c))
		assert.Equal(t, "0\n", r.ok(t, sandbox.ContainerProfile{}, sh("wc -c")))
	})
}

// What an image asks for does not happen: its entry point, volumes, health check and user are replaced.
func TestRealImages(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		run := func(i engines.Image, script string) string {
			return r.ok(t, sandbox.ContainerProfile{Image: r.engine.Load(t, i)}, sh(script))
		}
		assert.Equal(t, "x\n", run(engines.Entrypoint(), "echo x"))
		assert.Equal(t, "denied\n", run(engines.Volume(), "touch /data/x 2>/dev/null || echo denied"))
		assert.Equal(t, "65532\n", run(engines.NamedUser(), "id -u"))
		assert.Equal(t, "no\n", run(engines.OnBuild(), "test -e /onbuild || echo no"))
		assert.Equal(t, "no\n", run(engines.Healthcheck(), "sleep 2.5; test -e /tmp/healthy || echo no"))
		assert.Equal(t, "1777\n", run(engines.NoTmp(), "touch /tmp/x && stat -c %a /tmp"))
		p := sandbox.ContainerProfile{Image: r.engine.Load(t, engines.NoShell())}
		_, err := r.Run(t.Context(), p, sh("true"))
		assert.ErrorIs(t, err, sandbox.ErrNotFound)
		assert.Equal(t, "x\n", r.ok(t, p, program("/bin/echo", "x")))
		_, err = r.Run(t.Context(), sandbox.ContainerProfile{}, program("python3", "-c", "1"))
		assert.ErrorIs(t, err, sandbox.ErrNotFound, "an image without the interpreter")
		_, err = r.Run(t.Context(), sandbox.ContainerProfile{Image: "toolcell-nosuch"}, program("true"))
		assert.ErrorIs(t, err, sandbox.ErrUnavailable)
	})
}

// An image's own user stays when the operator says so, unless it is root.
func TestRealImageUser(t *testing.T) {
	for _, k := range engines.Among(kinds...) {
		t.Run(string(k), func(t *testing.T) {
			r := openReal(t, k, func(c *Config) { c.User = UserImage })
			assert.Equal(t, "1000\n", r.ok(t, sandbox.ContainerProfile{Image: r.engine.Load(t, engines.NamedUser())}, sh("id -u")))
			_, err := r.Run(t.Context(), sandbox.ContainerProfile{}, sh("id -u"))
			assert.ErrorIs(t, err, sandbox.ErrRefused)
		})
	}
}

// A writable mount that belongs to the program's user works, and another is refused with the command that changes it.
func TestRealMounts(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		dir := filepath.Join(publicTemp(t), `a b,c:"d'e`+"\n")
		require.NoError(t, os.Mkdir(dir, 0o700))
		if r.dialect == dialectNerdctl { // which cannot name it
			_, err := r.Run(t.Context(), sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/data"}}}, program("true"))
			require.ErrorIs(t, err, sandbox.ErrInvalid)
			dir = filepath.Join(publicTemp(t), "a b'e")
			require.NoError(t, os.Mkdir(dir, 0o700))
		}
		m := sandbox.Mount{Source: dir, Target: "/data", Writable: true}
		p := sandbox.ContainerProfile{Binds: []sandbox.Mount{m}}
		_, err := r.Run(t.Context(), p, sh("touch /data/x"))
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		assert.ErrorIs(t, err, sandbox.ErrRefused)
		assert.Contains(t, typed.Fix, "chown -R 65532:65532")
		require.NoError(t, os.Chown(dir, insideID, insideID))
		script := "printf '#!/bin/sh\necho ran' > /data/tool; chmod 755 /data/tool; mkdir /data/a /data/b; touch /data/a/f; mv /data/a/f /data/b/; /data/tool; echo $?"
		assert.Equal(t, "126\n", r.ok(t, p, sh(script)))
		p.Binds[0].Exec = true
		assert.Equal(t, "ran\n", r.ok(t, p, sh("/data/tool")))
		p.Binds[0].Writable = false
		assert.Equal(t, "denied\n", r.ok(t, p, sh("touch /data/new 2>/dev/null || echo denied")))
		for name, bad := range map[string]sandbox.Mount{
			"missing": {Source: filepath.Join(dir, "none"), Target: "/x"}, "relative": {Source: "x", Target: "/x"}, "root": {Source: "/", Target: "/x"},
			"not UTF-8": {Source: badName(t), Target: "/x"},
		} {
			_, err := r.Run(t.Context(), sandbox.ContainerProfile{Binds: []sandbox.Mount{bad}}, program("true"))
			assert.ErrorIs(t, err, sandbox.ErrInvalid, name)
		}
	})
}

func badName(t *testing.T) string {
	dir := filepath.Join(publicTemp(t), "\xff\xfe")
	require.NoError(t, os.Mkdir(dir, 0o755))
	return dir
}

// publicTemp is a directory whose parents everybody may enter.
func publicTemp(t *testing.T) string {
	dir, err := os.MkdirTemp("", "toolcell-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// The environment is in no process's arguments and not in the engine's description of the container.
func TestRealSecrets(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		const secret = "s3cret-of-the-call"
		read, write := io.Pipe()
		c := sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo running; echo $TOKEN >&2; sleep 999", secret}, Env: []string{"TOKEN=" + secret}, Stdout: write}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan sandbox.Result, 1)
		go func() {
			res, err := r.Run(ctx, sandbox.ContainerProfile{}, c)
			assert.NoError(t, err)
			done <- res
		}()
		_, err := bufio.NewReader(read).ReadString('\n')
		require.NoError(t, err)
		described := r.say(t, append([]string{"inspect"}, strings.Fields(r.containers(t))...)...)
		assert.NotContains(t, described, secret)
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		for _, p := range lines {
			if b, err := os.ReadFile(p); err == nil && !strings.Contains(string(b), "echo running") {
				assert.NotContains(t, string(b), secret)
			}
		}
		cancel()
		assert.Equal(t, secret+"\n", string((<-done).Stderr))
	})
}

// A caller that is killed leaves no container: not by init, which sees the end of its input, and not by the watchdog when
// the command that carries the input is stopped and tells nobody.
func TestRealCallerKilled(t *testing.T) {
	most(t, func(t *testing.T, r real) {
		for _, stopped := range []bool{false, true} {
			killCaller(t, r, stopped)
			killed := time.Now()
			assert.Eventually(t, func() bool { return r.say(t, "ps", "-a", "-q") == "" }, 20*time.Second, 50*time.Millisecond)
			t.Logf("nothing was left %s after the kill", time.Since(killed).Round(10*time.Millisecond))
		}
	})
}

// callerProgram builds the program that is killed.
func callerProgram(t *testing.T) string {
	out := filepath.Join(t.TempDir(), "caller")
	msg, err := exec.Command("go", "build", "-o", out, "./testdata/caller").CombinedOutput()
	require.NoError(t, err, "%s", msg)
	return out
}

// stopClients stops the engine's commands that a process has started, and returns what ends them: a command that is
// stopped does not tell the engine that its input has ended.
func stopClients(t *testing.T, pid int) func() {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, f := range all {
		more, err := os.ReadFile(f)
		require.NoError(t, err)
		children = append(append(children, ' '), more...)
	}
	var stopped []int
	for _, field := range strings.Fields(string(children)) {
		id, err := strconv.Atoi(field)
		require.NoError(t, err)
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id))
		if err == nil && (strings.Contains(string(line), "\x00start\x00") || strings.Contains(string(line), "\x00run\x00")) {
			require.NoError(t, syscall.Kill(id, syscall.SIGSTOP))
			stopped = append(stopped, id)
		}
	}
	require.NotEmpty(t, stopped)
	return func() {
		for _, id := range stopped {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
	}
}

// killCaller starts a program that opens the backend, has a container stand ready and runs a call, and kills it.
func killCaller(t *testing.T, r real, stopped bool) {
	t.Helper()
	cmd := exec.Command(callerProgram(t), r.engine.Binary, staticHelper(t, r.engine), r.config.Image, t.TempDir())
	cmd.Env = append(os.Environ(), r.engine.Env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "running\n", line)
	require.Len(t, strings.Fields(r.say(t, "ps", "-a", "-q")), 2)
	end := func() {}
	if stopped {
		end = stopClients(t, cmd.Process.Pid)
	}
	t.Cleanup(end)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it was meant to be
}

// Many calls at once, a third of them canceled at any moment, leave nothing.
func TestRealMany(t *testing.T) {
	calls := 24
	if engines.Long() {
		calls = 200
	}
	most(t, func(t *testing.T, r real) {
		var wg sync.WaitGroup
		slots := make(chan struct{}, 8)
		for i := range calls {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%3 == 0 {
					time.AfterFunc(time.Duration(rand.IntN(3000))*time.Millisecond, cancel)
				}
				res, err := r.Run(ctx, sandbox.ContainerProfile{}, sh("echo hi; exit 3"))
				if i%3 != 0 && assert.NoError(t, err) {
					assert.Equal(t, 3, res.ExitCode)
					assert.Equal(t, "hi\n", string(res.Stdout))
				}
			})
		}
		wg.Wait()
		assert.Empty(t, r.containers(t))
	})
}
