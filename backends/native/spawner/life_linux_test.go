package spawner

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// argVariable is a helper's argument.
const argVariable = "TOOLCELL_TEST_SPAWNER_ARG"

func helpers() map[string]func() error {
	return map[string]func() error{
		"greeted": sayGreeted,
		"deadline": func() error {
			return stoppedCallerOf(300*time.Millisecond, time.Hour, "/bin/sleep", os.Getenv(argVariable))
		},
		"cpu": func() error {
			return stoppedCallerOf(time.Hour, 200*time.Millisecond, "/bin/sh", "-c", "while :; do : "+os.Getenv(argVariable)+"; done")
		},
		"long":      func() error { return callerOf(time.Hour, time.Hour, "/bin/sleep", os.Getenv(argVariable)) },
		"inherited": inherited,
		"ignoring":  ignoring,
	}
}

// callerOf is a helper: a caller with one call under way, which waits for the end of the call and says why it ended.
func callerOf(timeout, cpu time.Duration, argv ...string) error {
	return callerThat(func() error { return nil }, timeout, cpu, argv...)
}

// stoppedCallerOf is one that stops itself as soon as the call is under way.
func stoppedCallerOf(timeout, cpu time.Duration, argv ...string) error {
	return callerThat(func() error { return unix.Kill(os.Getpid(), unix.SIGSTOP) }, timeout, cpu, argv...)
}

func callerThat(meanwhile func() error, timeout, cpu time.Duration, argv ...string) error {
	p, err := ready(nil)
	if err != nil {
		return err
	}
	fmt.Println("spawner", p.cmd.Process.Pid)
	r := runRequest(1)
	r.Timeout, r.CPU = int64(timeout), int64(cpu)
	if err := p.run(r, argv...); err != nil {
		return err
	}
	if err := meanwhile(); err != nil {
		return err
	}
	got, err := p.receive()
	if err != nil {
		return err
	}
	fmt.Println("cause", got.Cause)
	return nil
}

// inherited is a caller whose socket to the spawner is kept open by another process that outlives it.
func inherited() error {
	p, err := ready(nil)
	if err != nil {
		return err
	}
	keep, err := unix.Dup(p.fd)
	if err != nil {
		return err
	}
	other := exec.Command("/bin/sleep", os.Getenv(argVariable)+"1")
	other.ExtraFiles = []*os.File{os.NewFile(uintptr(keep), "socket")}
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		return err
	}
	if err := p.run(runRequest(1), "/bin/sleep", os.Getenv(argVariable)+"2"); err != nil {
		return err
	}
	fmt.Println("spawner", p.cmd.Process.Pid)
	_, err = p.receive()
	return err
}

// ignoring is a caller that ignores and blocks what it can, as nohup or a badly behaved service manager does. It prints
// what a program sees of that.
func ignoring() error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGCHLD, unix.SIGXFSZ)
	p, err := ready(nil)
	if err != nil {
		return err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	fds, err := sandboxOf(true, "/bin/cat", "/proc/self/status")
	if err != nil {
		return err
	}
	if err := p.send(runRequest(1), append(fds, pipe[1])...); err != nil {
		return err
	}
	if err := unix.Close(pipe[1]); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.NewFile(uintptr(pipe[0]), "output"))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Sig") || strings.HasPrefix(lines.Text(), "NoNewPrivs") {
			fmt.Println(lines.Text())
		}
	}
	_, err = p.receive()
	return err
}

// helper is a running helper.
type helper struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startHelper(t *testing.T, name, arg string) *helper {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{helperVariable + "=" + name, argVariable + "=" + arg}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &helper{cmd: cmd, lines: bufio.NewScanner(out)}
}

// says returns what follows a word in the helper's next line.
func (h *helper) says(t *testing.T, word string) string {
	t.Helper()
	require.True(t, h.lines.Scan(), "the helper says %q", word)
	rest, ok := strings.CutPrefix(h.lines.Text(), word+" ")
	require.True(t, ok, "%q", h.lines.Text())
	return rest
}

// A caller that is stopped stops no clock: the spawner holds the deadline and the CPU budget.
func TestClocksGoOnWhileTheCallerIsStopped(t *testing.T) {
	for name, cause := range map[string]wire.Cause{"deadline": wire.CauseTimeout, "cpu": wire.CauseCPU} {
		t.Run(name, func(t *testing.T) {
			m := mark(t)
			h := startHelper(t, name, m)
			h.says(t, "spawner")
			eventually(t, "the caller is stopped", func() bool { return state(h.cmd.Process.Pid) == "T" })
			eventually(t, "the program is gone", func() bool { return len(running(m, h.cmd.Process.Pid)) == 0 })
			require.Equal(t, "T", state(h.cmd.Process.Pid))
			require.NoError(t, h.cmd.Process.Signal(unix.SIGCONT))
			assert.Equal(t, fmt.Sprint(cause), h.says(t, "cause"))
			require.NoError(t, h.cmd.Wait())
		})
	}
}

// state is the letter of a process's state; "" when it is gone.
func state(pid int) string {
	data, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

// running are the processes with a mark that are not the helper itself.
func running(m string, but int) []string {
	var out []string
	for _, pid := range alive(m) {
		if pid != itoa(but) {
			out = append(out, pid)
		}
	}
	return out
}

// A caller that is killed takes everything along: its sandboxes and the spawner.
func TestCallerKilled(t *testing.T) {
	m := mark(t)
	h := startHelper(t, "long", m)
	spawner, err := strconv.Atoi(h.says(t, "spawner"))
	require.NoError(t, err)
	eventually(t, "the program runs", func() bool { return len(alive(m)) > 0 })
	require.NoError(t, h.cmd.Process.Kill())
	eventually(t, "the program is gone", func() bool { return len(alive(m)) == 0 })
	eventually(t, "the spawner is gone", func() bool { return gone(spawner) })
}

func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) || state(pid) == "Z" }

// The same when another process holds the caller's end of the socket, so that it never ends.
func TestCallerKilledWhileItsSocketLives(t *testing.T) {
	m := mark(t)
	h := startHelper(t, "inherited", m)
	t.Cleanup(func() {
		for _, pid := range alive(m + "1") {
			n, err := strconv.Atoi(pid)
			if assert.NoError(t, err) {
				assert.NoError(t, unix.Kill(n, unix.SIGKILL))
			}
		}
	})
	spawner, err := strconv.Atoi(h.says(t, "spawner"))
	require.NoError(t, err)
	eventually(t, "the program runs", func() bool { return len(alive(m+"2")) > 0 })
	require.NoError(t, h.cmd.Process.Kill())
	eventually(t, "the program is gone", func() bool { return len(alive(m+"2")) == 0 })
	eventually(t, "the spawner is gone", func() bool { return gone(spawner) })
	assert.Len(t, alive(m+"1"), 1, "the socket's other holder is still there")
}

// What the caller ignores, its programs do not.
func TestSignalsAreDefault(t *testing.T) {
	h := startHelper(t, "ignoring", "")
	got := map[string]string{}
	for h.lines.Scan() {
		name, value, _ := strings.Cut(h.lines.Text(), ":")
		got[name] = strings.TrimSpace(value)
	}
	require.NoError(t, h.cmd.Wait())
	for _, name := range []string{"SigPnd", "SigBlk", "SigIgn", "SigCgt"} {
		assert.Equal(t, "0000000000000000", got[name], name)
	}
	assert.Equal(t, "1", got["NoNewPrivs"])
}

// Bytes that are no message of the protocol end the spawner that they are sent to, with everything in it, and nothing else.
func TestHostileBytes(t *testing.T) {
	for name, message := range map[string][]byte{
		"one byte":            {1},
		"a long message":      make([]byte, 400),
		"longer than any":     make([]byte, 4096),
		"an unknown request":  wire.Bytes(&wire.Request{Kind: 77}),
		"request zero":        wire.Bytes(&wire.Request{}),
		"a greeting again":    helloBytes(),
		"a reply":             wire.Bytes(&wire.Reply{Kind: wire.ReplyDone}),
		"an ending by nobody": {},
	} {
		t.Run(name, func(t *testing.T) {
			p, other := newPeer(t), newPeer(t)
			m := mark(t)
			require.NoError(t, p.run(runRequest(1), "/bin/sleep", m))
			require.NoError(t, other.run(runRequest(1), "/bin/sleep", m+"9"))
			eventually(t, "both programs run", func() bool { return len(alive(m)) >= 2 })
			require.NoError(t, unix.Sendto(p.fd, message, unix.MSG_NOSIGNAL, nil))
			_ = p.cmd.Wait()
			assert.Equal(t, alive(m+"9"), alive(m), "only the other spawner's program is left")
			require.NoError(t, other.send(&wire.Request{Kind: wire.RequestKill, ID: 1}))
			assert.Equal(t, wire.CauseKilled, other.reply(t).Cause)
		})
	}
}

func helloBytes() []byte {
	h := wire.NewHello(wire.Build())
	return wire.Bytes(&h)
}

// A caller that does not read gets every reply when it does, and the spawner serves on meanwhile.
func TestReplies(t *testing.T) {
	small := func(theirs *os.File) error {
		return unix.SetsockoptInt(int(theirs.Fd()), unix.SOL_SOCKET, unix.SO_SNDBUF, 1) // the kernel makes it the least there is
	}
	p, err := ready(small)
	require.NoError(t, err)
	t.Cleanup(p.close)
	const calls = 60
	m := mark(t)
	for id := uint64(1); id <= calls; id++ {
		require.NoError(t, p.run(runRequest(id), "/bin/true"))
	}
	// The last one is served although nothing was read: it runs.
	require.NoError(t, p.run(runRequest(calls+1), "/bin/sleep", m))
	eventually(t, "the last program runs", func() bool { return len(alive(m)) > 0 })
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestKill, ID: calls + 1}))
	eventually(t, "it is killed", func() bool { return len(alive(m)) == 0 })
	seen := map[uint64]bool{}
	for range calls + 1 {
		r := p.reply(t)
		assert.Equal(t, uint32(wire.ReplyDone), r.Kind)
		assert.True(t, r.Started || r.ID > calls, "the last one may be killed before its init has told")
		assert.False(t, seen[r.ID], "call %d is answered once", r.ID)
		seen[r.ID] = true
	}
	assert.Len(t, seen, calls+1)
}

// What a cgroup counted ends a call as well.
func TestUsageFileEndsACall(t *testing.T) {
	p, m := newPeer(t), mark(t)
	usage, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer usage.Close()
	_, err = usage.WriteString("usage_usec 0\n")
	require.NoError(t, err)
	fds := sandbox(t, "/bin/sleep", m)
	r := runRequest(1)
	r.Flags, r.CPU = wire.FlagCPUFile, int64(100*time.Millisecond)
	require.NoError(t, p.send(r, append(fds, int(usage.Fd()))...))
	eventually(t, "the program runs", func() bool { return len(alive(m)) > 0 })
	_, err = usage.WriteAt([]byte("usage_usec 999999\n"), 0)
	require.NoError(t, err)
	assert.Equal(t, wire.CauseCPU, p.reply(t).Cause)
}
