package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// armedBackend opens a backend with n sandboxes that stand ready for calls under p like c.
func armedBackend(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command, n int) *Backend {
	t.Helper()
	b := testBackend(t)
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: n}))
	require.Equal(t, n, b.ArmedStats().Ready)
	// A process that prepares a root is the spawner's child, too.
	require.Eventually(t, func() bool { return b.idle() && len(b.waiting(t)) == n }, 20*time.Second, time.Millisecond)
	return b
}

// idle reports whether no root is being prepared.
func (b *Backend) idle() bool {
	for _, l := range b.spawners() {
		l.roots.mu.Lock()
		busy := slices.ContainsFunc(l.roots.list, func(r *root) bool { return r.asked >= rootAfter && r.mounts == nil })
		l.roots.mu.Unlock()
		if busy {
			return false
		}
	}
	return true
}

// served makes a call that has to find a sandbox standing ready.
func (b *Backend) served(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	t.Helper()
	before := b.ArmedStats().Served
	r, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Equal(t, before+1, b.ArmedStats().Served, "%s %s", r.Stdout, r.Stderr)
	return r
}

// waiting are the pids of the inits that stand ready.
func (b *Backend) waiting(t *testing.T) []int {
	t.Helper()
	var out []int
	for _, l := range b.spawners() {
		for _, pid := range children(t, l.process.pid) {
			out = append(out, pid)
		}
	}
	return out
}

// children are the pids of a process's children, as this process namespace numbers them.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	var out []int
	for _, f := range tasks {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, s := range strings.Fields(string(data)) {
			n, err := strconv.Atoi(s)
			require.NoError(t, err)
			out = append(out, n)
		}
	}
	return out
}

// A call that finds a sandbox standing ready is as any other: its directory, input, environment, output and exit code.
func TestArmedCall(t *testing.T) {
	for name, c := range map[string]sandbox.Command{
		"plain":           command("cat; pwd; echo $X; echo err >&2; exit 7"),
		"with an input":   {Argv: []string{"sh", "-c", "cat; pwd; echo $X; echo err >&2; exit 7"}, Stdin: strings.NewReader("in\n")},
		"in a directory":  {Argv: []string{"sh", "-c", "cat; pwd; echo $X; echo err >&2; exit 7"}, Dir: "/usr"},
		"with everything": {Argv: []string{"sh", "-c", "cat; pwd; echo $X; echo err >&2; exit 7"}, Dir: "/usr", Stdin: strings.NewReader("in\n")},
	} {
		t.Run(name, func(t *testing.T) {
			b := armedBackend(t, sandbox.ContainerProfile{}, c, 1)
			c.Env = []string{"X=y"}
			r := b.served(t, sandbox.ContainerProfile{}, c)
			want := "/tmp\ny\n"
			if c.Dir != "" {
				want = "/usr\ny\n"
			}
			if c.Stdin != nil {
				want = "in\n" + want
			}
			assert.Equal(t, want, string(r.Stdout))
			assert.Equal(t, "err\n", string(r.Stderr))
			assert.Equal(t, 7, r.ExitCode)
		})
	}
}

// What a program can find out about where it runs is the same in both, but for what is another in every sandbox. Both start
// in a prepared root, which differs from one that a call makes itself (TestPreparedRootIsTheSameRoot).
func TestArmedIsAsBuilt(t *testing.T) {
	script := `exec 2>&1
cat /proc/self/status | grep -v -e Pid: -e Tgid -e NSpid -e NStgid -e NSpgid -e NSsid -e ctxt -e Vm -e Rss -e TracerPid -e Speculation
cat /proc/self/limits /proc/self/mountinfo | sed -e 's/^[0-9]* [0-9]* [0-9:]* //' -e 's/ - \([a-z]*\) .*/ \1/'
ls -l /proc/self/fd | sed -e 's/.* //' -e 's/\[.*//'; cat /proc/self/cgroup | sed 's/:[^:]*$//'; env; umask; pwd; id; tty; ls -la / /tmp /dev /dev/shm | sed -e 's/ [A-Z][a-z][a-z] .*[0-9] / /' -e '/ proc$/d'
cat /proc/sys/user/max_user_namespaces /proc/self/oom_score_adj /proc/self/personality; nice; hostname; ls /proc/1/fd`
	for name, c := range map[string]sandbox.Command{
		"plain":         command(script),
		"with an input": {Argv: []string{"sh", "-c", script}, Stdin: strings.NewReader("")},
	} {
		b := testBackend(t)
		waitForRoot(t, b, sandbox.ContainerProfile{})
		require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Like: c, Count: 1}))
		ready := b.served(t, sandbox.ContainerProfile{}, c)
		built, err := b.call(t.Context(), sandbox.ContainerProfile{}, c, nil)
		require.NoError(t, err)
		assert.Equal(t, string(built.Stdout), string(ready.Stdout), name)
		assert.Contains(t, string(built.Stdout), "Seccomp:\t2\n", "there is something to compare")
		assert.Equal(t, built.Enforcement, ready.Enforcement)
	}
}

// Everything that confines holds before there is a program.
func TestArmedIsConfined(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("looking into an init that is not dumpable takes root")
	}
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	inits := b.waiting(t)
	require.Len(t, inits, 2)
	uids := map[string]bool{}
	for _, pid := range inits {
		proc := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
		data, err := os.ReadFile(proc("status"))
		require.NoError(t, err)
		status := string(data)
		for _, want := range []string{"Seccomp:\t2\n", "NoNewPrivs:\t1\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "Groups:\t \n"} {
			assert.Contains(t, status, want)
		}
		uids[field(status, "Uid:")] = true
		limits, err := os.ReadFile(proc("limits"))
		require.NoError(t, err)
		assert.Contains(t, strings.Join(strings.Fields(string(limits)), " "), "Max open files 256 256")
		assert.NoFileExists(t, proc("root/root"))
		assert.NoFileExists(t, proc("root/home"))
		var st, own unix.Stat_t
		require.NoError(t, unix.Stat(proc("root/dev/null"), &st))
		fds, err := os.ReadDir(proc("fd"))
		require.NoError(t, err)
		require.Len(t, fds, 5, "three streams that lead nowhere, the channel and the attention")
		for _, fd := range []string{"0", "1", "2"} {
			require.NoError(t, unix.Stat(proc("fd/"+fd), &own))
			assert.Equal(t, st.Rdev, own.Rdev, "descriptor %s is the sandbox's own null device", fd)
			assert.Equal(t, st.Ino, own.Ino)
		}
		for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
			mine, err := os.Readlink("/proc/self/ns/" + ns)
			require.NoError(t, err)
			theirs, err := os.Readlink(proc("ns/" + ns))
			require.NoError(t, err)
			assert.NotEqual(t, mine, theirs, ns)
		}
	}
	assert.Len(t, uids, 2, "no two have a host id in common")
}

func field(status, name string) string {
	_, rest, _ := strings.Cut(status, name)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// Two calls that were served by the same armory have nothing in common.
func TestArmedSharesNothing(t *testing.T) {
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	script := `for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done; cat /proc/sys/kernel/random/uuid
ls /tmp /dev/shm; ipcs -q | grep -c 0x; echo one > /tmp/left; echo two > /dev/shm/left; ipcmk -Q >/dev/null 2>&1; env | grep SECRET; sleep 1000 >/dev/null 2>&1 &`
	var seen []string
	for i := range 2 {
		c := command(script)
		c.Env = []string{fmt.Sprintf("SECRET=%d", i)}
		r := b.served(t, sandbox.ContainerProfile{}, c)
		lines := strings.Split(string(r.Stdout), "\n")
		require.Greater(t, len(lines), 9)
		for _, l := range lines[:8] {
			assert.NotContains(t, seen, l)
		}
		seen = append(seen, lines[:8]...)
		assert.NotContains(t, string(r.Stdout), "left")
		assert.Contains(t, lines, "0", "no message queue")
		assert.Contains(t, lines, fmt.Sprintf("SECRET=%d", i))
		assert.NotContains(t, lines, fmt.Sprintf("SECRET=%d", 1-i))
	}
}

// The clocks start with the call: neither the deadline nor the CPU time counts what came before it.
func TestArmedClocks(t *testing.T) {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: 2 * time.Second, CPUSeconds: 1}}
	b := armedBackend(t, p, sandbox.Command{}, 2)
	time.Sleep(2500 * time.Millisecond)
	r := b.served(t, p, command("sleep 0.2; echo done"))
	assert.Equal(t, sandbox.StatusExited, r.Status)
	assert.Equal(t, "done\n", string(r.Stdout))
	r = b.served(t, p, command("sleep 1000"))
	assert.Equal(t, sandbox.StatusTimeout, r.Status)
	p.Limits.Wall = time.Minute
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Count: 1}))
	r = b.served(t, p, command("while :; do :; done"))
	assert.Equal(t, sandbox.StatusCPUTimeout, r.Status)
	if r.Usage.User != nil {
		assert.Less(t, *r.Usage.User+*r.Usage.System, 3*time.Second)
	}
}

// A call's own wishes that a sandbox is not built by do not keep it from one.
func TestArmedServesAlike(t *testing.T) {
	p := sandbox.ContainerProfile{}
	b := armedBackend(t, p, sandbox.Command{}, 2)
	p.Env, p.Limits.Wall, p.Limits.OutputKB, p.Require = []string{"A=b"}, time.Second, 1, []sandbox.Guarantee{sandbox.PrivNonroot}
	r := b.served(t, p, command("echo $A; head -c 5000 /dev/zero"))
	assert.True(t, strings.HasPrefix(string(r.Stdout), "b\n"))
	assert.Len(t, r.Stdout, 1024)
	p.PIDs = 7
	served := b.ArmedStats().Served
	_, err := b.Run(t.Context(), p, command("true"))
	require.NoError(t, err)
	assert.Equal(t, served, b.ArmedStats().Served, "a sandbox with other limits is another kind")
}

// Errors are those of any other call, and a refusal takes nothing away from the next one.
func TestArmedErrors(t *testing.T) {
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"no-such-program"}})
	require.ErrorIs(t, err, sandbox.ErrNotFound)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"/etc/passwd"}})
	require.ErrorIs(t, err, sandbox.ErrNotExecutable)
	ready := b.ArmedStats().Served
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}, Timeout: time.Hour})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	assert.Equal(t, ready, b.ArmedStats().Served)
	for name, refused := range map[string]struct {
		profile sandbox.ContainerProfile
		like    sandbox.Command
		n       int
	}{
		"an invalid profile":  {sandbox.ContainerProfile{PIDs: -1}, sandbox.Command{}, 1},
		"a network":           {sandbox.ContainerProfile{Network: "host"}, sandbox.Command{}, 1},
		"no such directory":   {sandbox.ContainerProfile{}, sandbox.Command{Dir: "/no/such"}, 1},
		"no such source":      {sandbox.ContainerProfile{Mounts: []string{"/no/such:/x"}}, sandbox.Command{}, 1},
		"few open files":      {sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: 8}}, sandbox.Command{}, 1},
		"too many":            {sandbox.ContainerProfile{}, sandbox.Command{}, maxArmed + 1},
		"no room for an init": {sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 1}}, sandbox.Command{}, 1},
	} {
		b := testBackend(t)
		require.Error(t, b.Arm(t.Context(), refused.profile, sandbox.Arming{Like: refused.like, Count: refused.n}), name)
		assert.Equal(t, ArmedStats{}, b.ArmedStats(), name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, b.Arm(ctx, sandbox.ContainerProfile{PIDs: 9}, sandbox.Arming{Count: 1}))
}

// What was killed while it waited is replaced, and serves no call.
func TestArmedDies(t *testing.T) {
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	b.armory.look = 10 * time.Millisecond
	inits := b.waiting(t)
	require.Len(t, inits, 2)
	for _, pid := range inits {
		require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	}
	require.Eventually(t, func() bool { return ended(inits[0]) && ended(inits[1]) }, 20*time.Second, time.Millisecond)
	assert.Equal(t, "ok\n", string(b.must(t, "echo ok").Stdout))
	require.Eventually(t, func() bool {
		for _, pid := range b.waiting(t) {
			if pid == inits[0] || pid == inits[1] {
				return false
			}
		}
		return b.ArmedStats().Ready == 2
	}, 20*time.Second, 10*time.Millisecond)
	b.served(t, sandbox.ContainerProfile{}, command("true"))
}

// ended reports whether a process runs no more, be it reaped or not.
func ended(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(data), ") Z ")
}

// Nothing waits in a directory that a program can replace: the call starts in the one that is there then.
func TestArmedDirectoryReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	fill := func(content string) {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "sub")))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "name"), []byte(content), 0o644))
	}
	fill("old\n")
	p := sandbox.ContainerProfile{Mounts: []string{dir + ":/work:ro"}}
	b := armedBackend(t, p, sandbox.Command{Dir: "/work"}, 1)
	c := command("cat name; pwd")
	c.Dir = "/work/sub"
	for _, content := range []string{"old\n", "new\n", "newer\n"} {
		fill(content)
		r, err := b.Run(t.Context(), p, c)
		require.NoError(t, err)
		assert.Equal(t, content+"/work/sub\n", string(r.Stdout))
	}
	require.ErrorIs(t, b.Arm(t.Context(), p, sandbox.Arming{Like: c, Count: 1}), sandbox.ErrInvalid)
	c = command("cat sub/name; pwd")
	c.Dir = "/work"
	assert.Equal(t, "newer\n/work\n", string(b.served(t, p, c).Stdout))
}

// A directory that was replaced since is not what the call sees.
func TestArmedSourceReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	at := filepath.Join(dir, "work")
	fill := func(content string) {
		require.NoError(t, os.Mkdir(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, "name"), []byte(content), 0o644))
	}
	fill("old\n")
	p := sandbox.ContainerProfile{Mounts: []string{at + ":/work:ro"}}
	b := armedBackend(t, p, sandbox.Command{}, 1)
	assert.Equal(t, "old\n", string(b.served(t, p, command("cat /work/name")).Stdout))
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Count: 1}))
	require.NoError(t, os.Rename(at, at+".old"))
	fill("new\n")
	r, err := b.Run(t.Context(), p, command("cat /work/name"))
	require.NoError(t, err)
	assert.Equal(t, "new\n", string(r.Stdout))
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Count: 1}))
	require.NoError(t, os.RemoveAll(at))
	require.NoError(t, os.Symlink(at+".old", at))
	_, err = b.Run(t.Context(), p, command("cat /work/name"))
	require.ErrorIs(t, err, sandbox.ErrInvalid)
}

// More calls than there are sandboxes do not wait for them.
func TestArmedBurst(t *testing.T) {
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	var calls sync.WaitGroup
	for i := range 12 {
		calls.Go(func() {
			r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, command(fmt.Sprintf("echo %d", i)))
			assert.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("%d\n", i), string(r.Stdout))
		})
	}
	calls.Wait()
	s := b.ArmedStats()
	assert.Equal(t, 12, s.Served+s.Missed)
	assert.GreaterOrEqual(t, s.Served, 2)
	require.Eventually(t, func() bool { return b.ArmedStats().Ready == 2 }, 20*time.Second, 10*time.Millisecond)
}

// Nobody waits for calls that do not come.
func TestArmedIdle(t *testing.T) {
	b := testBackend(t)
	b.armory.idle, b.armory.look = 300*time.Millisecond, 10*time.Millisecond
	require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 2}))
	require.Eventually(t, func() bool { return b.ArmedStats().Ready == 0 && len(b.waiting(t)) == 0 }, 20*time.Second, 10*time.Millisecond)
	b.armory.mu.Lock()
	b.armory.idle = time.Minute
	b.armory.mu.Unlock()
	b.must(t, "true")
	require.Eventually(t, func() bool { return b.ArmedStats().Ready == 2 }, 20*time.Second, 10*time.Millisecond, "the next call has them built again")
}

// Nothing of what stands ready outlives its order, its spawner or the backend.
func TestArmedEnds(t *testing.T) {
	gone := func(pids []int) func() bool {
		return func() bool {
			for _, pid := range pids {
				if unix.Kill(pid, 0) == nil {
					return false
				}
			}
			return true
		}
	}
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 2)
	inits := b.waiting(t)
	require.Len(t, inits, 2)
	require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{}))
	assert.True(t, gone(inits)(), "giving up waits for it")

	require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 2}))
	inits = b.waiting(t)
	require.Len(t, inits, 2)
	l := b.spawners()[0]
	l.process.kill()
	require.Eventually(t, func() bool { return gone(inits)() && !l.alive() }, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, "ok\n", string(b.must(t, "echo ok").Stdout), "by another spawner")

	require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 3}))
	inits = b.waiting(t)
	require.Len(t, inits, 3)
	require.NoError(t, b.Close())
	assert.True(t, gone(inits)())
	err := b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 1})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	var e *sandbox.Error
	require.True(t, errors.As(err, &e))
}

// A sandbox that stands ready just after its lane was given up is nobody's.
func TestArmedTooLate(t *testing.T) {
	b := armedBackend(t, sandbox.ContainerProfile{}, sandbox.Command{}, 1)
	l := b.spawners()[0]
	require.Len(t, l.waiting, 1)
	l.fail(errors.New("given up"))
	assert.NotPanics(t, func() { l.deliver(message{reply: wire.Reply{Kind: wire.ReplyArmed, ID: 7}}) })
	assert.Zero(t, l.busy())
	assert.Equal(t, "ok\n", string(b.must(t, "echo ok").Stdout))
}

// What is given up is gone, also what was just being built to take the place of what a call took.
func TestArmedIsGivenUpWhole(t *testing.T) {
	b := testBackend(t)
	waitForRoot(t, b, sandbox.ContainerProfile{})
	building := 0
	for range 10 {
		require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 8}))
		for range 8 {
			b.served(t, sandbox.ContainerProfile{}, command("true"))
		}
		require.Eventually(t, func() bool { return len(b.waiting(t)) > 0 }, 20*time.Second, time.Millisecond, "control: others are built")
		if b.ArmedStats().Ready < 8 {
			building++
		}
		require.NoError(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{}))
		assert.Empty(t, b.waiting(t))
	}
	assert.Positive(t, building)
}
