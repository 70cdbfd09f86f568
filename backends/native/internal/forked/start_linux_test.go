package forked

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// listing prints every descriptor below 400 that the shell has open. It opens none itself.
const listing = `i=0; while [ $i -lt 400 ]; do [ -e /proc/$$/fd/$i ] && printf '%d ' $i; i=$((i+1)); done`

// A program finds its streams and nothing else: not the channel, not the plan, nothing of the parent.
func TestNothingElseIsOpen(t *testing.T) {
	for range 20 { // more than the parent has open anyway
		memfd(t, nil)
	}
	var b plan.Builder
	out, _ := outputOf(t, &b, shell(listing))
	assert.Equal(t, "1 ", out)
}

// A hundred descriptors that sit where others of them belong arrive in their order.
func TestDescriptorsOnEachOthersPlaces(t *testing.T) {
	var b plan.Builder
	const n = 100
	var fds []int
	for i := range n {
		fds = append(fds, memfd(t, fmt.Appendf(nil, "%08d", i)))
	}
	var more []int
	inTheWay := 0
	for i := range n { // backwards, so that most places are held by another one
		fd := fds[n-1-i]
		_, err := unix.Seek(fd, 0, io.SeekStart)
		require.NoError(t, err)
		if fd >= plan.FirstFD && fd < plan.FirstFD+n {
			inTheWay++
		}
		more = append(more, fd)
		m := b.Buffer(8, "")
		b.Wait("", plan.FirstFD+i, m)
		b.Same("", m, 0, b.Bytes(fmt.Appendf(nil, "%08d", n-1-i), ""))
	}
	require.Greater(t, inTheWay, n/2)
	recs, _ := forkPlan(t, &b, shell("exit 0"), more...).end(t)
	require.Len(t, recs, 2, "%+v", recs)
	assert.Equal(t, uint32(RecordStarted), recs[0].Kind)
}

func TestProgramsArguments(t *testing.T) {
	var b plan.Builder
	out, _ := outputOf(t, &b, plan.Program{
		Paths: []string{"/none", "/usr/bin/env", "/bin/env"}, Argv: []string{"env", "-0"}, Env: []string{"A=1", "B=\xff\n", "C="},
	})
	assert.Equal(t, "A=1\x00B=\xff\n\x00C=\x00", out)
}

// The paths are tried as execvp(3) tries them.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, []byte(content), mode))
		return p
	}
	plain := file("plain", "#!/bin/sh\nexit 0\n", 0o644)
	text := file("text", "exit 0\n", 0o755)
	script := file("script", "#!/bin/sh\nexit 7\n", 0o755)
	orphan := file("orphan", "#!/no/such/interpreter\n", 0o755)
	long := strings.Repeat("x", 128<<10)
	for name, tt := range map[string]struct {
		paths []string
		arg   string
		errno unix.Errno
	}{
		"the first":                     {[]string{script, "/bin/false"}, "", 0},
		"not there, then found":         {[]string{"/none/x", script}, "", 0},
		"below a file, then found":      {[]string{plain + "/x", script}, "", 0},
		"not executable, then found":    {[]string{plain, script}, "", 0},
		"not there":                     {[]string{"/none/x", "/none/y"}, "", unix.ENOENT},
		"not executable is remembered":  {[]string{plain, "/none/x"}, "", unix.EACCES},
		"remembered behind a missing":   {[]string{"/none/x", plain, plain + "/x"}, "", unix.EACCES},
		"a directory":                   {[]string{dir}, "", unix.EACCES},
		"no format: the end of the try": {[]string{text, script}, "", unix.ENOEXEC},
		"its interpreter is missing":    {[]string{orphan}, "", unix.ENOENT},
		"an argument too long":          {[]string{script}, long, unix.E2BIG},
	} {
		t.Run(name, func(t *testing.T) {
			var b plan.Builder
			c := forkPlan(t, &b, plan.Program{Paths: tt.paths, Argv: []string{"x", tt.arg}})
			if tt.errno != 0 {
				fault1(t, c, StepStart, tt.errno)
				return
			}
			recs, _ := c.end(t)
			require.Len(t, recs, 2, "%+v", recs)
			assert.Equal(t, 7, unix.WaitStatus(recs[1].Status).ExitStatus())
		})
	}
}

// The parent blocks signals and has handlers; the program has neither, and the parent keeps its own.
func TestSignalsOfTheProgram(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var block, old, after unix.Sigset_t
	block.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGUSR2-1)
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &block, &old))
	defer func() { require.NoError(t, unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)) }()
	var b plan.Builder
	out, _ := outputOf(t, &b, plan.Program{Paths: []string{"/bin/cat"}, Argv: []string{"cat", "/proc/self/status"}})
	for _, name := range []string{"SigBlk", "SigCgt", "SigPnd"} {
		assert.Contains(t, out, name+":\t0000000000000000\n")
	}
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{}, &after))
	assert.Equal(t, old.Val[0]|block.Val[0], after.Val[0], "the parent's mask is what it was")
}

// eventually waits for what must become true.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		require.False(t, time.Now().After(end))
	}
}

// reaper makes the child the reaper of its descendants, as PID 1 of a namespace is.
func reaper() *plan.Builder {
	var b plan.Builder
	b.Do("", plan.Prctl, []plan.Arg{plan.Num(unix.PR_SET_CHILD_SUBREAPER), plan.Num(1), plan.Num(0), plan.Num(0), plan.Num(0)})
	return &b
}

func TestSurvivors(t *testing.T) {
	var gate [2]int
	require.NoError(t, unix.Pipe2(gate[:], unix.O_CLOEXEC))
	b := reaper()
	b.Call("the gate", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(0), plan.Num(0)}, plan.Want(0))
	// The background process reads from the gate; the shell gives a job an empty input unless it is told otherwise.
	c := forkPlan(t, b, shell("exec 3<&0; read x <&3 & exit 9"), gate[0])
	require.NoError(t, unix.Close(gate[0]))
	started, err := c.next()
	require.NoError(t, err)
	assert.Equal(t, uint32(RecordStarted), started.Kind)
	exited, err := c.next()
	require.NoError(t, err)
	assert.Equal(t, uint32(RecordExited), exited.Kind)
	assert.Equal(t, uint32(1), exited.Survivors)
	eventually(t, func() bool { return c.called(t) == 1 })
	assert.Equal(t, 9, unix.WaitStatus(exited.Status).ExitStatus())
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.pidfd), Events: unix.POLLIN}}, 50)
	require.NoError(t, err)
	assert.Zero(t, n, "the child waits for what is left")
	require.NoError(t, unix.Close(gate[1]))
	recs, status := c.end(t)
	assert.Empty(t, recs, "the end of an orphan is nobody's business")
	assert.Zero(t, status)
}

// A program that ends before its children have, and without any: what is left at that moment counts.
func TestNoSurvivors(t *testing.T) {
	for name, script := range map[string]string{
		"alone":            "exit 0",
		"waited for":       "true & true & wait; exit 0",
		"a killed program": "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			c := forkPlan(t, reaper(), shell(script))
			recs, _ := c.end(t)
			require.Len(t, recs, 2)
			assert.Zero(t, c.called(t), "its end is seen anyway")
			assert.Zero(t, recs[1].Survivors)
		})
	}
}

// Orphans that end before the program are reaped meanwhile: none is a zombie when the program looks.
func TestOrphansAreReaped(t *testing.T) {
	b := reaper()
	script := `for i in 1 2 3 4 5; do (true & echo $! >&3 ) 3>&1; done | while read p; do
		n=0; while [ -e /proc/$p ] && [ $n -lt 2000 ]; do n=$((n+1)); sleep 0.01; done
		[ -e /proc/$p ] && echo left $p; done; echo looked`
	out, recs := outputOf(t, b, shell(script))
	assert.Equal(t, "looked\n", out)
	require.Len(t, recs, 2)
	assert.Zero(t, recs[1].Survivors)
}

// A low limit on open files leaves room for what a child is given, whatever the descriptors are.
func TestDescriptorsBelowALowLimit(t *testing.T) {
	const n = 10
	var b plan.Builder
	data := encoded(t, &b, shell("exit 0"))
	fds := []int{memfd(t, data[0]), memfd(t, data[1])}
	for range n {
		fds = append(fds, memfd(t, nil))
	}
	slices.Reverse(fds[2:]) // or they might be in order already
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := unix.Rlimit{Cur: uint64(slices.Max(fds)) + 2*n, Max: old.Max}
	require.Less(t, low.Cur, uint64(plan.ChannelFD+plan.MaxFDs))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	defer func() { assert.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) }()
	recs, _ := forkFDs(t, fds...).end(t)
	require.Len(t, recs, 2, "%+v", recs)
	assert.Equal(t, uint32(RecordStarted), recs[0].Kind)
}

// A child with a lifetime ends by itself when it is over, and no sooner than its program without.
func TestLifetime(t *testing.T) {
	var gate [2]int
	require.NoError(t, unix.Pipe2(gate[:], unix.O_CLOEXEC))
	var b plan.Builder
	b.Call("the gate", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(0), plan.Num(0)}, plan.Want(0))
	data := encoded(t, &b, shell("read x"))
	short := forkRequest(t, Request{Lifetime: int64(200 * time.Millisecond)}, memfd(t, data[0]), memfd(t, data[1]), gate[0])
	require.NoError(t, unix.Close(gate[0]))
	recs, status := short.end(t)
	require.NoError(t, unix.Close(gate[1])) // for the program, which is in no namespace here
	assert.Len(t, recs, 1, "it has started")
	assert.Equal(t, ExpiredExit, status)

	data = encoded(t, reaper(), shell("sleep 0.2 & exit 7"))
	long := forkRequest(t, Request{Lifetime: int64(time.Hour)}, memfd(t, data[0]), memfd(t, data[1]))
	recs, status = long.end(t)
	require.Len(t, recs, 2)
	assert.Equal(t, 7, unix.WaitStatus(recs[1].Status).ExitStatus())
	assert.Equal(t, uint32(1), recs[1].Survivors)
	assert.Zero(t, status, "it has waited for what was left")
}

// What there is to reap does not keep a child from noticing that its lifetime is over.
func TestLifetimeComesFirst(t *testing.T) {
	for _, tt := range []struct {
		lifetime time.Duration
		records  int
		status   int
	}{{time.Hour, 2, 0}, {100 * time.Millisecond, 1, ExpiredExit}} {
		var gate [2]int
		require.NoError(t, unix.Pipe2(gate[:], unix.O_CLOEXEC))
		var b plan.Builder
		b.Call("the gate", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(0), plan.Num(0)}, plan.Want(0))
		data := encoded(t, &b, shell("read x"))
		c := forkRequest(t, Request{Lifetime: int64(tt.lifetime)}, memfd(t, data[0]), memfd(t, data[1]), gate[0])
		started, err := c.next()
		require.NoError(t, err)
		require.NoError(t, unix.PidfdSendSignal(c.pidfd, unix.SIGSTOP, nil, 0))
		require.NoError(t, unix.Close(gate[0]))
		require.NoError(t, unix.Close(gate[1])) // the program ends
		time.Sleep(200 * time.Millisecond)
		require.NoError(t, unix.PidfdSendSignal(c.pidfd, unix.SIGCONT, nil, 0))
		recs, status := c.end(t)
		assert.Len(t, append(recs, started), tt.records)
		assert.Equal(t, tt.status, status)
	}
}

// A child with a lifetime ends when nobody has the other end of its channel, whether its record was read there or not.
// One without leaves that to its spawner's process namespace.
func TestDesertedChild(t *testing.T) {
	var b plan.Builder
	b.Call("the gate", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(0), plan.Num(0)}, plan.Want(0))
	data := encoded(t, &b, shell("read x"))
	var gate [2]int
	require.NoError(t, unix.Pipe2(gate[:], unix.O_CLOEXEC))
	desert := func(lifetime time.Duration, read bool) *child {
		c := forkRequest(t, Request{Lifetime: int64(lifetime)}, memfd(t, data[0]), memfd(t, data[1]), gate[0])
		if read {
			rec, err := c.next()
			require.NoError(t, err)
			require.Equal(t, uint32(RecordStarted), rec.Kind)
		} else {
			poll := []unix.PollFd{{Fd: int32(c.channel), Events: unix.POLLIN}}
			eventually(t, func() bool { n, err := unix.Poll(poll, 1000); return err == nil && n == 1 })
		}
		require.NoError(t, unix.Close(c.channel))
		c.channel = -1
		return c
	}
	ended := func(c *child) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.pidfd), Events: unix.POLLIN}}, 0)
		return err == nil && n == 1
	}
	stays := desert(0, true)
	for _, read := range []bool{true, false} {
		c := desert(time.Hour, read)
		eventually(t, func() bool { return ended(c) })
	}
	assert.False(t, ended(stays))
	require.NoError(t, unix.Close(gate[0]))
	require.NoError(t, unix.Close(gate[1])) // for the programs, which are in no namespace here
}

func TestUsage(t *testing.T) {
	var b plan.Builder
	recs, _ := forkPlan(t, &b, shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")).end(t)
	require.Len(t, recs, 2)
	assert.Positive(t, recs[1].User, "microseconds")
}

func TestForkErrors(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Sigset_t
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{}, &before))
	pid, pidfd, errno := forker(t).Fork(&Request{Flags: 1 << 63})
	assert.Equal(t, unix.EINVAL, errno)
	assert.Zero(t, pid)
	assert.Equal(t, -1, pidfd)
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{}, &after))
	assert.Equal(t, before, after)
}

// Forks at every moment of the collector and the scheduler, with other threads at work.
func TestForksUnderLoad(t *testing.T) {
	forks := 500
	switch {
	case os.Getenv("TOOLCELL_TEST_SOAK") == "full":
		forks = 5000
	case testing.Short():
		forks = 100
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var stop atomic.Bool
	var busy atomic.Int64
	for range 2 {
		go func() {
			var keep [64][]byte
			for i := 0; !stop.Load(); i++ {
				keep[i%len(keep)] = bytes.Repeat([]byte{byte(i)}, 16<<10)
				busy.Add(1)
				runtime.Gosched()
			}
		}()
	}
	defer stop.Store(true)
	var b plan.Builder
	u := b.Call("", plan.Umask, []plan.Arg{plan.Num(0o22)})
	m := b.Buffer(8, "")
	b.Put("", m, 0, u, 8)
	b.Do("", plan.Umask, []plan.Arg{plan.Num(0)}, plan.Want(0o22))
	b.Do("the end", plan.Chdir, []plan.Arg{b.Str("/none")})
	data := encoded(t, &b, shell("exit 0"))
	steps, program := memfd(t, data[0]), memfd(t, data[1])
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := forker(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for i := range forks {
		r := Request{N: 4} // the attention is never asked for
		r.FDs[0], r.FDs[1], r.FDs[2], r.FDs[3] = int32(pair[1]), int32(pair[1]), int32(steps), int32(program)
		pid, pidfd, errno := f.Fork(&r)
		require.Zero(t, errno)
		c := child{pid: pid, pidfd: pidfd, channel: pair[0]}
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		require.NoError(t, err)
		require.NoError(t, unix.Close(pidfd))
		require.True(t, status.Exited() && status.ExitStatus() == int(failedExit), "fork %d: %#x", i, status)
		rec, err := c.next()
		require.NoError(t, err)
		require.Equal(t, Record{Kind: RecordFault, Step: 3, Errno: uint32(unix.ENOENT)}, rec, "fork %d", i)
	}
	runtime.ReadMemStats(&after)
	t.Logf("%d forks in %s, %d collections meanwhile", forks, time.Since(begin).Round(time.Millisecond), after.NumGC-before.NumGC)
	assert.Greater(t, after.NumGC, before.NumGC, "the collector ran")
	assert.Positive(t, busy.Load())
}
