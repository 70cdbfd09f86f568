package scripts_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// patience bounds every wait for what must happen. It is no measure of anything.
const patience = 20 * time.Second

// started is a `toolcell run` whose program has begun.
type started struct {
	cmd *exec.Cmd
	// program is the pid of the program, init that of its parent.
	program, init int
}

// start runs a program that says when it has begun and sleeps for a time that nothing else on the machine sleeps.
func start(t *testing.T, env []string, flags ...string) started {
	t.Helper()
	seconds := fmt.Sprintf("3%08d", os.Getpid()*100+len(flags)*10+len(env))
	args := append(append([]string{"run"}, flags...), "host", "sh", "-c", "echo begun; exec sleep "+seconds)
	s := started{cmd: exec.Command(toolcell(), args...)}
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", line)
	require.Eventually(t, func() bool {
		s.program, s.init = find("sleep\x00" + seconds + "\x00")
		return s.program != 0
	}, patience, 10*time.Millisecond)
	return s
}

// find returns the process with this command line, and its parent.
func find(cmdline string) (pid, parent int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err != nil || string(line) != cmdline {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
		line, _, _ := strings.Cut(rest, "\n")
		pid, _ = strconv.Atoi(filepath.Base(dir))
		parent, _ = strconv.Atoi(line)
		return pid, parent
	}
	return 0, 0
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int, why string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return os.IsNotExist(err)
	}, patience, 10*time.Millisecond, why)
}

// A command that is stopped cannot kill its sandbox at the deadline, which ends by itself then.
func TestStoppedCommandKeepsItsDeadline(t *testing.T) {
	requireNative(t)
	s := start(t, nil, "--timeout", "2s")
	require.NoError(t, s.cmd.Process.Signal(unix.SIGSTOP))
	gone(t, s.program, "the program ends while its caller is stopped")
	require.NoError(t, s.cmd.Process.Signal(unix.SIGCONT))
	_ = s.cmd.Wait()
	assert.Equal(t, 124, s.cmd.ProcessState.ExitCode())
}

// A command that is stopped and then killed takes its sandbox along.
func TestStoppedCommandIsKilled(t *testing.T) {
	requireNative(t)
	s := start(t, nil)
	require.NoError(t, s.cmd.Process.Signal(unix.SIGSTOP))
	require.NoError(t, s.cmd.Process.Kill())
	gone(t, s.program, "the program ends with its caller")
	gone(t, s.init, "and so does its init")
}

// A sandbox's init is a copy of the process that forked it, but not of its memory: neither its environment nor its
// arguments are there, nor its name.
func TestInitHasNothingOfItsCaller(t *testing.T) {
	requireNative(t)
	secret := fmt.Sprintf("secret-%d-%d", os.Getpid(), time.Now().UnixNano())
	s := start(t, []string{"TOOLCELL_TEST_SECRET=" + secret})
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.init))
	require.NoError(t, err)
	assert.Equal(t, "toolcell-init\n", string(comm))
	if os.Geteuid() != 0 {
		return // nobody but root looks into an init
	}
	require.True(t, holds(t, s.cmd.Process.Pid, secret), "the caller has it")
	assert.False(t, holds(t, s.init, secret))
	assert.False(t, holds(t, s.init, "begun; exec sleep"), "what a call runs is the program's alone")
}

// holds reports whether a process has text anywhere in its memory.
func holds(t *testing.T, pid int, text string) bool {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	require.NoError(t, err)
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	require.NoError(t, err)
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var mode string
		_, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode)
		require.NoError(t, err)
		if mode[0] != 'r' || to-from > 1<<28 || strings.Contains(line, "memfd:plan") || strings.Contains(line, "[v") {
			continue
		}
		data := make([]byte, to-from)
		if _, err := io.ReadFull(io.NewSectionReader(mem, int64(from), int64(to-from)), data); err == nil && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// What a shell has its children ignore, as nohup and background jobs do, the program does not inherit.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	requireNative(t)
	const look = "grep SigIgn /proc/self/status"
	trap := func(command string) string {
		out, err := exec.Command("sh", "-c", "trap '' HUP INT QUIT USR1; "+command).CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	require.Equal(t, "SigIgn:\t0000000000000207", trap(look))
	assert.Equal(t, "SigIgn:\t0000000000000000", trap(toolcell()+" run host "+look))
}
