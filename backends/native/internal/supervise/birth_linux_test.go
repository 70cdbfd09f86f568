package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// cgroupV2 makes a directory in a hierarchy of version 2, for root.
func cgroupV2(t *testing.T) string {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if unix.Statfs(mount, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			dir := filepath.Join(mount, fmt.Sprintf("toolcell-birth-%d", os.Getpid()))
			require.NoError(t, os.Mkdir(dir, 0o755))
			t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
			return dir
		}
	}
	if os.Getenv("TOOLCELL_TEST_REQUIRE") != "" {
		t.Fatal("no cgroup v2 is mounted")
	}
	t.Skip("no cgroup v2 is mounted")
	return ""
}

// joining is the plan of a process that joins a cgroup by the plan's first descriptor, says by the second that it did, and
// waits.
func joining(t *testing.T) (steps, program int) {
	t.Helper()
	var b plan.Builder
	b.Call("join", plan.Write, []plan.Arg{plan.FD(plan.FirstFD), b.Str("0"), plan.Num(1)}, plan.Want(1))
	b.Call("say so", plan.Write, []plan.Arg{plan.FD(plan.FirstFD + 1), b.Str("done"), plan.Num(4)}, plan.Want(4))
	b.Wait("wait to be killed", plan.ChannelFD, b.Buffer(8, "never"))
	shape, err := b.Shape()
	require.NoError(t, err)
	encoded, err := shape.Encode()
	require.NoError(t, err)
	start, err := plan.Encode(plan.Program{Paths: []string{"/"}, Argv: []string{"/"}})
	require.NoError(t, err)
	return memfd(t, encoded), memfd(t, start)
}

func memfd(t *testing.T, data []byte) int {
	t.Helper()
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unix.Close(fd)) })
	_, err = unix.Write(fd, data)
	require.NoError(t, err)
	return fd
}

// born starts a call that is to be born in dir, and returns the cgroup that its init is in and what it wrote to join one.
func (s *Supervisor) born(t *testing.T, id uint64, dir string) (cgroup, wrote string) {
	t.Helper()
	steps, program := joining(t)
	into, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(into)
	joins, theirs := pipe(t)
	says, saying := pipe(t)
	req := wire.Request{Kind: wire.RequestRun, ID: id, Flags: wire.FlagCgroup, Timeout: 1 << 62}
	require.NoError(t, s.Start(&req, []int{steps, program, into, int(theirs.Fd()), int(saying.Fd())}))
	require.NoError(t, theirs.Close())
	require.NoError(t, saying.Close())
	text := make([]byte, 8)
	n, err := says.Read(text)
	require.NoError(t, err)
	require.Equal(t, "done", string(text[:n]))
	c := s.calls[s.byID[id]]
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", c.pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(own)) {
		if name, ok := strings.CutPrefix(line, "0::"); ok {
			cgroup = strings.TrimSpace(name)
		}
	}
	require.NoError(t, unix.Kill(c.pid, unix.SIGKILL))
	n, _ = joins.Read(text) // it ends with the init, the pipe's last writer
	_, err = unix.Wait4(c.pid, nil, unix.WALL, nil)
	require.NoError(t, err)
	return cgroup, string(text[:n])
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r, w
}

// An init is born in its cgroup where that can be; elsewhere it joins it, and says so.
func TestInitIsBornInItsCgroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has a cgroup here without asking; test/kernels has ordinary users' calls")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s, err := New(func(*wire.Reply, int) error { return nil })
	require.NoError(t, err)
	defer s.Close()
	dir := cgroupV2(t)
	cgroup, wrote := s.born(t, 1, dir)
	assert.Equal(t, filepath.Base(dir), filepath.Base(cgroup))
	assert.Empty(t, wrote)
	assert.False(t, s.calls[s.byID[1]].reply.Joined)
	for id := uint64(2); id < 4; id++ {
		cgroup, wrote = s.born(t, id, t.TempDir()) // no cgroup at all
		assert.Equal(t, "0", wrote)
		assert.NotEqual(t, filepath.Base(dir), filepath.Base(cgroup))
		assert.True(t, s.calls[s.byID[id]].reply.Joined)
		assert.True(t, s.unborn)
	}
}
