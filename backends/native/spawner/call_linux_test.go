package spawner

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/supervise"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

func TestProgramsEnd(t *testing.T) {
	p := newPeer(t)
	require.NoError(t, p.run(runRequest(7), "/bin/sh", "-c", "exit 3"))
	r := p.reply(t)
	assert.Equal(t, uint32(wire.ReplyDone), r.Kind)
	assert.Equal(t, uint64(7), r.ID)
	assert.True(t, r.Started && r.Exited && !r.Faulted)
	assert.Equal(t, 3, unix.WaitStatus(r.Status).ExitStatus())
	assert.Zero(t, r.InitStatus, "init ended by itself")
	assert.Equal(t, wire.CauseNone, r.Cause)

	require.NoError(t, p.run(runRequest(8), "/bin/sh", "-c", "kill -9 $$"))
	r = p.reply(t)
	assert.Equal(t, uint64(8), r.ID)
	assert.Equal(t, unix.SIGKILL, unix.WaitStatus(r.Status).Signal())
}

// A program that embeds the backend may call Main on any thread, whose memory is then the Go runtime's.
func TestForksFromAnyThread(t *testing.T) {
	p, err := readyAs(otherThread, nil)
	require.NoError(t, err)
	t.Cleanup(p.close)
	for id := uint64(1); id < 4; id++ {
		require.NoError(t, p.run(runRequest(id), "/bin/sh", "-c", "exit 3"))
		r := p.reply(t)
		assert.True(t, r.Exited, "%+v", r)
		assert.Equal(t, 3, unix.WaitStatus(r.Status).ExitStatus())
	}
}

// A program that ends before its children: the caller is told, and asks for the end.
func TestSurvivors(t *testing.T) {
	p, m := newPeer(t), mark(t)
	require.NoError(t, p.run(runRequest(1), "/bin/sh", "-c", "sleep "+m+" & exit 5"))
	r := p.reply(t)
	assert.Equal(t, uint32(wire.ReplyExited), r.Kind)
	assert.Equal(t, 5, unix.WaitStatus(r.Status).ExitStatus())
	eventually(t, "what was left runs", func() bool { return len(alive(m)) > 0 })
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestKill, ID: 1}))
	r = p.reply(t)
	assert.Equal(t, uint32(wire.ReplyDone), r.Kind)
	assert.True(t, r.Exited)
	assert.Equal(t, wire.CauseNone, r.Cause, "the program had ended by itself")
	assert.Empty(t, alive(m), "nothing is left when the caller is told so")
}

func TestKill(t *testing.T) {
	p, m := newPeer(t), mark(t)
	require.NoError(t, p.run(runRequest(1), "/bin/sleep", m))
	eventually(t, "the program runs", func() bool { return len(alive(m)) > 0 })
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestKill, ID: 99}), "a call that does not exist is no error")
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestKill, ID: 1}))
	r := p.reply(t)
	assert.Equal(t, wire.CauseKilled, r.Cause)
	assert.True(t, r.Started && !r.Exited)
	assert.Equal(t, unix.SIGKILL, unix.WaitStatus(r.InitStatus).Signal())
	assert.Empty(t, alive(m))
}

// A fault crosses three processes with the step and the errno that happened, also one that comes before the spawner has
// written init's identity maps, which it then cannot.
func TestFaultsAreReported(t *testing.T) {
	p := newPeer(t)
	for id, b := range []*plan.Builder{new(plan.Builder), identified()} {
		want := uint32(id + 1)
		b.Do("succeeds", plan.Chdir, []plan.Arg{b.Str("/")})
		b.Do("fails", plan.Chdir, []plan.Arg{b.Str("/does/not/exist")})
		fds, err := sandboxWith(b, "/bin/true")
		require.NoError(t, err)
		defer closeAll(fds)
		require.NoError(t, p.send(runRequest(uint64(id)), fds...))
		r := p.reply(t)
		assert.True(t, r.Faulted && !r.BySpawner && !r.Started, "%+v", r)
		assert.Equal(t, want, r.Step)
		assert.Equal(t, uint32(unix.ENOENT), r.Errno)
	}

	require.NoError(t, p.run(runRequest(2), "/does/not/exist"))
	r := p.reply(t)
	assert.True(t, r.Faulted && !r.BySpawner && !r.Started)
	assert.Equal(t, uint32(forked.StepStart), r.Step)
	assert.Equal(t, uint32(unix.ENOENT), r.Errno)
}

// A request that cannot be served is refused; the spawner goes on.
func TestUnservableRequests(t *testing.T) {
	p := newPeer(t)
	fds := sandbox(t, "/bin/true")
	many := slices.Clone(fds)
	for len(many) < plan.MaxFDs {
		many = append(many, fds[0])
	}
	refused := func(id uint64, errno unix.Errno) {
		t.Helper()
		r := p.reply(t)
		assert.Equal(t, uint32(wire.ReplyDone), r.Kind)
		assert.Equal(t, id, r.ID)
		assert.True(t, r.Faulted && r.BySpawner)
		assert.Equal(t, uint32(wire.StepFork), r.Step)
		assert.Equal(t, uint32(errno), r.Errno)
	}
	require.NoError(t, p.send(runRequest(1)))
	refused(1, unix.EINVAL)
	require.NoError(t, p.send(runRequest(1), fds[0]))
	refused(1, unix.EINVAL)
	require.NoError(t, p.send(runRequest(2), many...))
	refused(2, unix.EINVAL)
	r := runRequest(3)
	r.Flags = wire.FlagCPUFile | wire.FlagOOMEvent
	require.NoError(t, p.send(r, fds[0], fds[1], fds[0]))
	refused(3, unix.EINVAL)
	r = runRequest(4)
	r.Namespaces = 1 << 63
	require.NoError(t, p.send(r, fds...))
	refused(4, unix.EINVAL)

	require.NoError(t, p.send(runRequest(5), many[:plan.MaxFDs-(plan.PlanFD-plan.ChannelFD)]...))
	assert.True(t, p.reply(t).Exited, "as many descriptors as there may be")
}

// A map that the spawner may not write ends the call before a step of its plan is made.
func TestForbiddenMap(t *testing.T) {
	p := newPeer(t)
	r := runRequest(1)
	r.OutsideUID = 1 << 20 // not mapped here
	require.NoError(t, p.run(r, "/bin/true"))
	got := p.reply(t)
	assert.True(t, got.Faulted && got.BySpawner && !got.Started)
	assert.Equal(t, uint32(wire.StepMaps), got.Step)
	assert.Equal(t, uint32(unix.EPERM), got.Errno)
}

// The caller keeps its out-of-memory event open and readable. The next call, in the same place, is not killed by it.
func TestAnEventEndsOneCallOnly(t *testing.T) {
	p, m := newPeer(t), mark(t)
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(event)
	fds := sandbox(t, "/bin/sleep", m)
	r := runRequest(1)
	r.Flags = wire.FlagOOMEvent
	require.NoError(t, p.send(r, append(fds, event)...))
	eventually(t, "the program runs", func() bool { return len(alive(m)) > 0 })
	_, err = unix.Write(event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	got := p.reply(t)
	assert.Equal(t, uint64(1), got.ID)
	assert.Equal(t, wire.CauseOOM, got.Cause)

	for id := uint64(2); id < 6; id++ {
		require.NoError(t, p.run(runRequest(id), "/bin/sh", "-c", "sleep 0.05; exit 4"))
		got = p.reply(t)
		assert.Equal(t, id, got.ID)
		assert.Equal(t, wire.CauseNone, got.Cause)
		assert.Equal(t, 4, unix.WaitStatus(got.Status).ExitStatus())
	}
}

// A request for a namespace is answered with one that has the map, and no process is left of it.
func TestUserNamespace(t *testing.T) {
	p := newPeer(t)
	fds := sandbox(t, "/bin/true")
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestUserNS, ID: 9, Namespaces: unix.CLONE_NEWUSER, InsideUID: 5, InsideGID: 6, OutsideUID: outside(), OutsideGID: outside()}, fds...))
	require.NoError(t, waitReadable(p.fd))
	var r wire.Reply
	oob := make([]byte, unix.CmsgSpace(4))
	_, oobn, _, _, err := unix.Recvmsg(p.fd, wire.Bytes(&r), oob, unix.MSG_CMSG_CLOEXEC)
	require.NoError(t, err)
	assert.Equal(t, uint32(wire.ReplyUserNS), r.Kind)
	assert.Equal(t, uint64(9), r.ID)
	require.False(t, r.Faulted, "%+v", r)
	got, err := rights(oob[:oobn])
	require.NoError(t, err)
	require.Len(t, got, 1)
	defer closeAll(got)
	link, err := os.Readlink("/proc/self/fd/" + itoa(got[0]))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(link, "user:["), link)
	children, err := os.ReadFile("/proc/" + itoa(p.cmd.Process.Pid) + "/task/" + itoa(p.cmd.Process.Pid) + "/children")
	require.NoError(t, err)
	assert.Empty(t, string(children))
}

// What is left to send is tried again soon, whatever else there is to wait for.
func TestTimeout(t *testing.T) {
	s, err := supervise.New(func(*wire.Reply, int) error { return nil })
	require.NoError(t, err)
	l := loop{Supervisor: s}
	assert.Equal(t, -1, l.timeout(), "an event ends the wait")
	l.backlog = make([]backlogged, 1)
	assert.Equal(t, int(backlogWait/time.Millisecond), l.timeout())
}

// A sign of life comes after what was told before, and says nothing about the call.
func TestSignOfLife(t *testing.T) {
	p, m := newPeer(t), mark(t)
	require.NoError(t, p.run(runRequest(1), "/bin/sleep", m))
	eventually(t, "the program runs", func() bool { return len(alive(m)) > 0 })
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestAlive, ID: 1}))
	assert.Equal(t, wire.Reply{Kind: wire.ReplyAlive, ID: 1}, p.reply(t))
	assert.NotEmpty(t, alive(m))
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestKill, ID: 1}))
	assert.Equal(t, uint32(wire.ReplyDone), p.reply(t).Kind)
	require.NoError(t, p.send(&wire.Request{Kind: wire.RequestAlive, ID: 1}), "also of a call that has ended")
	assert.Equal(t, uint32(wire.ReplyAlive), p.reply(t).Kind)
}
