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
	"syscall"
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
	s := started{cmd: exec.Command(programs.Toolcell(), args...)}
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
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if parent := parentOf(pid); parent != 0 {
			return pid, parent
		}
	}
	return 0, 0
}

// parentOf returns the parent of a process, or 0 when that is gone.
func parentOf(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	parent, _ := strconv.Atoi(line)
	return parent
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
	programs.RequireNative(t)
	s := start(t, nil, "--timeout", "2s")
	require.NoError(t, s.cmd.Process.Signal(unix.SIGSTOP))
	gone(t, s.program, "the program ends while its caller is stopped")
	require.NoError(t, s.cmd.Process.Signal(unix.SIGCONT))
	_ = s.cmd.Wait()
	assert.Equal(t, 124, s.cmd.ProcessState.ExitCode())
}

// A command that is stopped and then killed takes its sandbox along.
func TestStoppedCommandIsKilled(t *testing.T) {
	programs.RequireNative(t)
	s := start(t, nil)
	require.NoError(t, s.cmd.Process.Signal(unix.SIGSTOP))
	require.NoError(t, s.cmd.Process.Kill())
	gone(t, s.program, "the program ends with its caller")
	gone(t, s.init, "and so does its init")
}

// A sandbox's init is a copy of the process that forked it, but not of its memory: neither its environment nor its
// arguments are there, nor its name.
func TestInitHasNothingOfItsCaller(t *testing.T) {
	programs.RequireNative(t)
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
	programs.RequireNative(t)
	const look = "grep SigIgn /proc/self/status"
	trap := func(command string) uint64 {
		out, err := exec.Command("sh", "-c", "trap '' HUP INT QUIT USR1; "+command).Output()
		require.NoError(t, err)
		mask, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(string(out), "SigIgn:")), 16, 64)
		require.NoError(t, err, string(out))
		return mask
	}
	require.Equal(t, uint64(0x207), trap(look)&0x207, "the control, beside what the tests themselves were started with")
	assert.Zero(t, trap(programs.Toolcell()+" run host "+look))
}

// Signals that a limit sends mean nothing when somebody else sends them.
func TestSignalOfALimit(t *testing.T) {
	programs.RequireNative(t)
	const raise = "kill -XCPU $$"
	plain := exec.Command("sh", "-c", raise)
	_ = plain.Run()
	require.Equal(t, unix.SIGXCPU, plain.ProcessState.Sys().(syscall.WaitStatus).Signal())
	in := exec.Command(programs.Toolcell(), "run", "host", "sh", "-c", raise)
	_ = in.Run()
	assert.Equal(t, 128+int(unix.SIGXCPU), in.ProcessState.ExitCode())
}

// With another process namespace's /proc, in which its own ids are others', a command does nothing.
func TestForeignProc(t *testing.T) {
	programs.RequireNative(t)
	run := func(flags uintptr) (string, int) {
		cmd := exec.Command(programs.Toolcell(), "run", "host", "echo", "begun")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 && flags != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run(0)
	require.Contains(t, out, "begun\n")
	require.Zero(t, code)
	out, code = run(syscall.CLONE_NEWPID)
	assert.Contains(t, out, "another process namespace")
	assert.NotContains(t, out, "begun")
	assert.Equal(t, 125, code)
}

// A report says who watches its call.
func TestReportNamesTheWatcher(t *testing.T) {
	programs.RequireNative(t)
	s := start(t, nil)
	out := output(t, programs.Toolcell(), "run", "--json", "host", "true")
	if parentOf(s.init) == s.cmd.Process.Pid {
		assert.NotContains(t, out, "spawner")
		assert.Contains(t, out, "this process's clock")
	} else {
		assert.Contains(t, out, "the spawner's clock")
	}
}

// Neither does a sandbox see the arguments of its caller as those of its init.
func TestArgumentsAreNotInits(t *testing.T) {
	programs.RequireNative(t)
	const look = "cat /proc/$PPID/cmdline"
	require.NotEmpty(t, output(t, "sh", "-c", look+"; true"))
	assert.Empty(t, output(t, programs.Toolcell(), "run", "host", "sh", "-c", look+"; true"))
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	require.NoError(t, err)
	return string(out)
}

// A hang-up that nohup has the command ignore does not end it.
func TestNohup(t *testing.T) {
	programs.RequireNative(t)
	for name, want := range map[string]int{"": 129, "nohup ": 0} {
		// However the tests themselves were started.
		const asUsual = `exec perl -e '$SIG{HUP} = "DEFAULT"; exec @ARGV' `
		s := exec.Command("sh", "-c", asUsual+name+programs.Toolcell()+" run -i host sh -c 'echo begun; cat'")
		s.Stderr = io.Discard // nohup has something to say
		in, err := s.StdinPipe()
		require.NoError(t, err)
		out, err := s.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, s.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "begun\n", line)
		require.NoError(t, s.Process.Signal(unix.SIGHUP))
		if want == 0 { // otherwise the signal alone has to end it
			require.NoError(t, in.Close())
		}
		_ = s.Wait()
		assert.Equal(t, want, s.ProcessState.ExitCode(), "%q", name)
	}
}
