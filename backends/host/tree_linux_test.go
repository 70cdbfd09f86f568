package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// pids reads the numbers that a program has written to a file.
func pids(t *testing.T, file string) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []int
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		out = append(out, pid)
	}
	require.NotEmpty(t, out)
	return out
}

// alive reports whether a process is there and no zombie: an orphan of a supervisor that was killed waits for init.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

// However a program leaves processes behind, they are dead when the call returns, and do not hold it up.
func TestOrphansAreKilled(t *testing.T) {
	for name, script := range map[string]string{
		"in its group":      `sleep 999 & echo $! >pids; echo hi`,
		"holds stderr":      `setsid sleep 999 >&2 & echo $! >pids; echo hi`,
		"twice removed":     `(setsid sh -c 'sleep 999 & echo $$ $! >pids; wait' &) ; while ! test -s pids; do sleep 0.01; done; echo hi`,
		"many":              `i=0; while test $i -lt 60; do i=$((i+1)); setsid sleep 999 & echo $! >>pids; done; echo hi`,
		"ignores its end":   `(trap '' TERM HUP INT; exec sleep 999) & echo $! >pids; echo hi`,
		"stopped":           `sleep 999 & kill -STOP $!; echo $! >pids; echo hi`,
		"killed itself too": `setsid sleep 999 & echo $! >pids; echo hi; kill -KILL $$`,
	} {
		dir := t.TempDir()
		c := sh(script)
		c.Dir = dir
		for _, mode := range []Mode{Limits, Unsandboxed} {
			r, err := open(t, mode).Run(context.Background(), sandbox.ContainerProfile{}, c)
			require.NoError(t, err)
			assert.Equal(t, "hi\n", string(r.Stdout), name)
			assert.NotEqual(t, sandbox.StatusTimeout, r.Status, name)
			assert.Empty(t, r.Hints, name)
			assert.NotNil(t, r.Usage.CPU(), name)
			for _, pid := range pids(t, filepath.Join(dir, "pids")) {
				assert.False(t, alive(t, pid), name)
			}
			require.NoError(t, os.Remove(filepath.Join(dir, "pids")))
		}
	}
}

func TestDeadlineAndCancelKillTheTree(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		dir := t.TempDir()
		c := sh(`setsid sh -c 'echo $$ >>pids; sleep 998 & echo $! >>pids; echo ready; wait' & wait`)
		c.Dir, c.Timeout = dir, time.Second
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if cancels {
			c.Timeout = 0
			c.Stdout = writerFunc(cancel)
		}
		r, err := open(t, Limits).Run(ctx, sandbox.ContainerProfile{}, c)
		require.NoError(t, err)
		assert.Contains(t, []sandbox.Status{sandbox.StatusTimeout, sandbox.StatusCanceled}, r.Status)
		for _, pid := range pids(t, filepath.Join(dir, "pids")) {
			assert.False(t, alive(t, pid))
		}
	}
}

// The CPU time is that of the whole tree, the orphans' too.
func TestUsageOfTheTree(t *testing.T) {
	// The burner's parent ends at once, so that the program itself never waits for it.
	r := run(t, sandbox.ContainerProfile{}, sh(`mkfifo "$1/f"; (sh -c 'i=0; while test $i -lt 300000; do i=$((i+1)); done; echo done' >"$1/f" &); cat "$1/f"`, t.TempDir()))
	require.NotNil(t, r.Usage.CPU())
	assert.Equal(t, "done\n", string(r.Stdout))
	assert.Greater(t, *r.Usage.CPU(), 50*time.Millisecond)
}

// A program that kills its supervisor dies with it, and the caller says what it knows.
func TestProgramThatKillsItsSupervisor(t *testing.T) {
	dir := t.TempDir()
	c := sh(`sleep 999 & echo $$ $! >pids; kill -KILL $PPID; sleep 999`)
	c.Dir = dir
	r := run(t, sandbox.ContainerProfile{}, c)
	assert.Equal(t, sandbox.StatusSignaled, r.Status)
	assert.Equal(t, "SIGKILL", r.Signal)
	assert.Contains(t, r.Hints, "the process that watches the call was killed")
	assert.Contains(t, r.Hints, "processes of this call may still run on the host")
	assert.Nil(t, r.Usage.User, "nobody has measured it")
	for _, pid := range pids(t, filepath.Join(dir, "pids")) {
		assert.Eventually(t, func() bool { return !alive(t, pid) }, time.Minute, 10*time.Millisecond)
	}
}

// A supervisor that is stopped does not keep its caller.
func TestProgramThatStopsItsSupervisor(t *testing.T) {
	c := sh(`echo $$; kill -STOP $PPID; sleep 999`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.Stdout = writerFunc(func() { time.AfterFunc(300*time.Millisecond, cancel) })
	r, err := open(t, Limits).Run(ctx, sandbox.ContainerProfile{}, c)
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, r.Status)
	pid, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	require.NoError(t, err)
	assert.Eventually(t, func() bool { return !alive(t, pid) }, time.Minute, 10*time.Millisecond)
}

// A caller that is killed takes the tree with it.
func TestCallerIsKilled(t *testing.T) {
	if dir := os.Getenv("TEST_CALLER_DIR"); dir != "" {
		c := sh(`setsid sleep 999 & echo $$ $! >pids.new; mv pids.new pids; wait`)
		c.Dir = dir
		run(t, sandbox.ContainerProfile{}, c)
		return
	}
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestCallerIsKilled$")
	cmd.Env = append(os.Environ(), "TEST_CALLER_DIR="+dir)
	require.NoError(t, cmd.Start())
	file := filepath.Join(dir, "pids")
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 10*time.Millisecond)
	for _, pid := range pids(t, file) {
		require.True(t, alive(t, pid))
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, pid := range pids(t, file) {
		assert.Eventually(t, func() bool { return !alive(t, pid) }, time.Minute, 10*time.Millisecond)
	}
}

// What was ignored by the caller's own starter (nohup) is not ignored in the program.
func TestSignalsAreTheDefaults(t *testing.T) {
	if os.Getenv("TEST_NOHUP") != "" {
		r := run(t, sandbox.ContainerProfile{}, sh("kill -HUP $$; exit 5"))
		assert.Equal(t, "SIGHUP", r.Signal)
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", `trap '' HUP INT TSTP; exec "$0" -test.run '^TestSignalsAreTheDefaults$'`, self)
	cmd.Env = append(os.Environ(), "TEST_NOHUP=1")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, string(out))
}

// A descriptor that somebody has left without the flag does not reach the program.
func TestInheritableDescriptor(t *testing.T) {
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], 0))
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	fd := strconv.Itoa(p[1])
	out, err := exec.Command("/bin/sh", "-c", "test -e /proc/self/fd/"+fd).CombinedOutput()
	require.NoError(t, err, "it would be inherited: %s", out)
	assert.Equal(t, 1, run(t, sandbox.ContainerProfile{}, sh("test -e /proc/self/fd/"+fd)).ExitCode)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestIsWrapper$")
	cmd.Env = append(os.Environ(), "TEST_IS_WRAPPER=test -e /proc/self/fd/"+fd+" || exit 9")
	out, _ = cmd.CombinedOutput()
	assert.Equal(t, 9, cmd.ProcessState.ExitCode(), "the wrapper alone: %s", out)
}

// Not a test, but the process of the one above.
func TestIsWrapper(t *testing.T) {
	if script := os.Getenv("TEST_IS_WRAPPER"); script != "" {
		t.Fatal(Wrapper{Argv: []string{"/bin/sh", "-c", script}}.Exec())
	}
}

func TestReadProcess(t *testing.T) {
	p, err := readProcess(os.Getpid())
	require.NoError(t, err)
	assert.Equal(t, os.Getppid(), p.parent)
	_, err = readProcess(-1)
	assert.Error(t, err)
	children, err := processes()
	require.NoError(t, err)
	assert.NotEmpty(t, children)
	sleeper := exec.Command("sleep", "999")
	require.NoError(t, sleeper.Start())
	process{pid: sleeper.Process.Pid, start: "0"}.kill()
	require.NoError(t, sleeper.Process.Signal(syscall.Signal(0)), "another process of the same number lives on")
	p, err = readProcess(sleeper.Process.Pid)
	require.NoError(t, err)
	p.kill()
	assert.ErrorContains(t, sleeper.Wait(), "killed")
}

// The supervisor's program has to know what it is.
func TestForeignProgram(t *testing.T) {
	for _, relative := range []string{"true", "./true", "bin/true"} {
		_, err := Open(Config{Mode: Limits, Program: relative})
		require.ErrorIs(t, err, sandbox.ErrInvalid, relative)
	}
	for _, program := range []string{"/bin/true", "/no/such/program"} {
		b, err := Open(Config{Mode: Limits, Program: program})
		require.NoError(t, err)
		_, err = b.Ready(context.Background(), sandbox.ContainerProfile{})
		require.Error(t, err, program)
		_, err = b.Run(context.Background(), sandbox.ContainerProfile{}, sh("exit 0"))
		var e *sandbox.Error
		require.ErrorAs(t, err, &e, program)
		assert.NotEmpty(t, e.Fix, program)
	}
}
