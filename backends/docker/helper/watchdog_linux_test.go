package helper

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/need"
)

// TestMain makes this program its own watchdog.
func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// scene is a watchdog with an engine that writes down what it is asked.
type scene struct {
	dir, log string
	in       interface {
		Write([]byte) (int, error)
		Close() error
	}
	wait func() error
	pid  int
}

func newScene(t *testing.T, daemon bool) *scene {
	t.Helper()
	base := t.TempDir()
	s := &scene{dir: filepath.Join(base, DirPrefix+"1"), log: filepath.Join(base, "log")}
	require.NoError(t, os.Mkdir(s.dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "file"), nil, 0o600))
	engine := filepath.Join(base, "engine")
	require.NoError(t, os.WriteFile(engine, []byte("#!/bin/sh\necho \"$@\" >> "+s.log+"\n"), 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := WatchdogCommand(self)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	s.in, s.wait, s.pid = in, cmd.Wait, cmd.Process.Pid
	require.NoError(t, Greet(in, Watch{Binary: engine, Label: "toolcell.instance=x", Dir: s.dir, Daemon: daemon}))
	return s
}

func (s *scene) tell(t *testing.T, lines ...string) {
	t.Helper()
	for _, l := range lines {
		_, err := fmt.Fprintln(s.in, l)
		require.NoError(t, err)
	}
}

// ignores reports whether a process ignores a signal (proc_pid_status(5), SigIgn).
func ignores(t *testing.T, pid int, sig syscall.Signal) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(status), "SigIgn:\t")
	require.True(t, ok)
	mask, err := strconv.ParseUint(rest[:16], 16, 64)
	require.NoError(t, err)
	return mask>>(sig-1)&1 == 1
}

// When the caller's pipe ends, what was not taken back is removed by name, then by label, and then the files.
func TestWatchdogRemoves(t *testing.T) {
	s := newScene(t, false)
	s.tell(t, "add a", "add b", "add c", "forget b")
	require.Eventually(t, func() bool { return ignores(t, s.pid, syscall.SIGTERM) }, time.Minute, time.Millisecond)
	require.NoError(t, syscall.Kill(s.pid, syscall.SIGTERM), "what asks programs to end does not end it")
	require.NoError(t, s.in.Close())
	require.NoError(t, s.wait())
	log, err := os.ReadFile(s.log)
	require.NoError(t, err)
	lines := strings.Split(string(log), "\n")
	assert.Equal(t, "rm -f -v a c", lines[0])
	assert.Equal(t, "ps -a -q --no-trunc --filter label=toolcell.instance=x", lines[1])
	assert.NoDirExists(t, s.dir)
}

// With nothing to remove the engine is not asked.
func TestWatchdogIsQuiet(t *testing.T) {
	s := newScene(t, false)
	s.tell(t, "add a", "forget a")
	require.NoError(t, s.in.Close())
	require.NoError(t, s.wait())
	assert.NoFileExists(t, s.log)
	assert.NoDirExists(t, s.dir)
}

// Where a daemon does the work, neither the watchdog nor the commands that it runs can write anything else.
func TestWatchdogIsConfined(t *testing.T) {
	_, _, errno := syscall.Syscall(444, 0, 0, 1) // landlock_create_ruleset: is there any
	if errno != 0 {
		need.Missing(t, "this kernel has no Landlock: "+errno.Error())
	}
	s := newScene(t, true)
	s.tell(t, "add a")
	require.NoError(t, s.in.Close())
	require.NoError(t, s.wait())
	assert.NoFileExists(t, s.log, "the engine's command has written it, as it can without confinement (TestWatchdogRemoves)")
	assert.NoDirExists(t, s.dir)
}

// Nothing but a greeting makes a watchdog, and it removes no directory that is not a backend's.
func TestWatchdogRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, input := range []string{"", "hello\n", greeting + "\n", greeting + "\nno json\n", greeting + "\n{\"dir\":\"" + dir + "\"}\n"} {
		assert.Equal(t, 2, runWatchdog(strings.NewReader(input)), "%q", input)
	}
	assert.DirExists(t, dir)
}

func TestCandidates(t *testing.T) {
	env := []string{"A=1", "PATH=/a::/b"}
	assert.Equal(t, []string{"/a/x", "./x", "/b/x"}, candidates("x", env))
	assert.Equal(t, []string{"./x"}, candidates("./x", env))
	assert.Empty(t, candidates("x", nil))
}

// Init's part of the process limit is what it says, or one more, never less.
func TestTakeThreads(t *testing.T) {
	if os.Getenv("TOOLCELL_TEST_THREADS") != "1" {
		self, err := os.Executable()
		require.NoError(t, err)
		out, err := childTest(self, "TestTakeThreads")
		require.NoError(t, err, "%s", out)
		return
	}
	const total = 24 // a test program has more of its own than init
	require.NoError(t, takeThreads(total))
	n, err := threads()
	require.NoError(t, err)
	assert.Contains(t, []int{total, total + 1}, n)
}
