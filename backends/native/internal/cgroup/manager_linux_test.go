package cgroup

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// open returns a manager on this machine's own hierarchies; a machine without any skips, or fails where that is wanted.
func open(t *testing.T) *Manager {
	t.Helper()
	m, err := Open(Config{})
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skip("no cgroups to use here:", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, m.Close())
		for _, h := range m.found {
			assert.NoDirExists(t, h.inst.root.Name())
		}
	})
	return m
}

func acquire(t *testing.T, m *Manager, l Limits) *Group {
	t.Helper()
	g, err := m.Acquire(l)
	require.NoError(t, err)
	t.Cleanup(g.Release)
	return g
}

func TestControllers(t *testing.T) {
	m := open(t)
	for _, name := range []string{Memory, PIDs, CPU, CPUAcct} {
		assert.NoError(t, m.Controller(name))
		assert.Regexp(t, `\(cgroup v[12]\)$`, m.Mechanism(name))
	}
	assert.Error(t, m.Controller("blkio"))
	assert.Empty(t, m.Mechanism("blkio"))
}

func TestMemoryLimit(t *testing.T) {
	m := open(t)
	assert.Zero(t, run(t, "touch 96", nil).ExitCode(), "control: without a group the memory is there")
	wide := acquire(t, m, Limits{MemoryBytes: 256 << 20})
	assert.Zero(t, run(t, "touch 96", wide).ExitCode(), "control: a wide limit allows it")
	u, err := wide.Usage()
	require.NoError(t, err)
	require.NotNil(t, u.MaxMemory)
	assert.Greater(t, *u.MaxMemory, int64(96<<20))
	assert.Zero(t, u.OOMKills)

	tight := acquire(t, m, Limits{MemoryBytes: 48 << 20})
	assert.True(t, signaled(run(t, "touch 96", tight)), "the kernel kills it")
	u, err = tight.Usage()
	require.NoError(t, err)
	assert.Positive(t, u.OOMKills)
	assert.LessOrEqual(t, *u.MaxMemory, int64(48<<20))
}

func TestOOMEvent(t *testing.T) {
	m := open(t)
	g := acquire(t, m, Limits{MemoryBytes: 48 << 20})
	if g.OOMEvent() == nil {
		return // v2 kills the group itself; TestMemoryLimit has seen it
	}
	assert.False(t, readable(t, g.OOMEvent()), "control: silent before")
	assert.Zero(t, run(t, "touch 8", g).ExitCode())
	assert.False(t, readable(t, g.OOMEvent()), "control: silent while memory is enough")
	run(t, "touch 96", g)
	require.True(t, readable(t, g.OOMEvent()))
	var count [8]byte
	_, err := g.OOMEvent().Read(count[:])
	require.NoError(t, err)
	assert.Positive(t, binary.NativeEndian.Uint64(count[:]))
}

func readable(t *testing.T, f *os.File) bool {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	var n int
	err := restart(func() (err error) {
		n, err = unix.Poll(fds, 0)
		return err
	})
	require.NoError(t, err)
	return n == 1
}

func TestPIDsLimit(t *testing.T) {
	m := open(t)
	wide := acquire(t, m, Limits{PIDs: 200})
	assert.Zero(t, run(t, "fork 40", wide).ExitCode(), "control: a wide limit allows 40")
	u, err := wide.Usage()
	require.NoError(t, err)
	assert.Zero(t, u.PIDsMax)

	tight := acquire(t, m, Limits{PIDs: 24})
	assert.Equal(t, 3, run(t, "fork 40", tight).ExitCode())
	u, err = tight.Usage()
	require.NoError(t, err)
	assert.Positive(t, u.PIDsMax)
	if u.MaxProcesses != nil {
		assert.LessOrEqual(t, *u.MaxProcesses, int64(24))
		assert.Greater(t, *u.MaxProcesses, int64(12))
	}
}

func TestCPU(t *testing.T) {
	m := open(t)
	free := acquire(t, m, Limits{})
	require.Zero(t, run(t, "burn 300", free).ExitCode())
	u, err := free.Usage()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, u.CPUUser+u.CPUSystem, 250*time.Millisecond, "what was burnt is counted")
	assert.Positive(t, u.CPUUser)
	assert.Zero(t, throttled(t, m, free), "control: nobody is slowed without a limit")

	slow := acquire(t, m, Limits{CPUs: 0.2})
	require.Zero(t, run(t, "burn 100", slow).ExitCode())
	assert.Positive(t, throttled(t, m, slow), "the kernel slowed the group")

	var text [64]byte
	n, err := slow.CPUUsage().ReadAt(text[:], 0)
	require.Positive(t, n, err)
	if !slow.CPUFormat() {
		ns, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 64)
		require.NoError(t, err)
		assert.Greater(t, ns, int64(50*time.Millisecond))
	}
}

// throttled is how often the kernel made the group wait; 0 for a group that has no directory there.
func throttled(t *testing.T, m *Manager, g *Group) int64 {
	t.Helper()
	for _, s := range g.spots {
		if !s.h.has(CPU) {
			continue
		}
		n, err := s.d.readKey("cpu.stat", "nr_throttled")
		require.NoError(t, err)
		return n
	}
	return 0
}

func TestInvalidLimits(t *testing.T) {
	m := open(t)
	for _, l := range []Limits{{MemoryBytes: -1}, {PIDs: -1}, {CPUs: -1}, {CPUs: 0.001}, {CPUs: 1e300}} {
		_, err := m.Acquire(l)
		assert.Error(t, err, "%+v", l)
		assert.Error(t, m.Prepare(l), "%+v", l)
	}
}

// TestRewrite takes a ready group with other limits: they have to be the new ones, upwards and downwards.
func TestRewrite(t *testing.T) {
	m := open(t)
	for _, size := range []int64{64, 16, 256, 32} {
		l := Limits{MemoryBytes: size << 20, PIDs: size, CPUs: float64(size) / 100}
		g := acquire(t, m, l)
		assert.Equal(t, l, g.Limits())
		for _, s := range g.spots {
			for _, c := range s.h.controllers {
				assert.NoError(t, c.check(s.d, l))
			}
		}
		require.Eventually(t, func() bool { return readyGroups(m) == defaultAhead }, 10*time.Second, time.Millisecond)
	}
}

func readyGroups(m *Manager) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, groups := range m.ready {
		n += len(groups)
	}
	return n
}

func TestKill(t *testing.T) {
	m := open(t)
	g := acquire(t, m, Limits{PIDs: 64})
	c := command("wait 0", g.Procs())
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer stdin.Close()
	require.Eventually(t, func() bool { return population(t, g) > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, g.Kill())
	require.Error(t, c.Wait())
	assert.True(t, signaled(c.ProcessState))
	assert.Zero(t, population(t, g))
}

func population(t *testing.T, g *Group) (n int) {
	t.Helper()
	for _, s := range g.spots {
		pids, err := s.d.processes()
		require.NoError(t, err)
		n += len(pids)
	}
	return n
}

// TestReleaseWithProcess releases a group that is not empty: it stays until it can go, and then goes.
func TestReleaseWithProcess(t *testing.T) {
	m := open(t)
	g, err := m.Acquire(Limits{PIDs: 64})
	require.NoError(t, err)
	c := command("wait 0", g.Procs())
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return population(t, g) > 0 }, 10*time.Second, time.Millisecond)
	g.Release()
	g.Release()
	assert.Error(t, c.Wait(), "killed after a while")
	require.Eventually(t, func() bool { return directories(t, g) == 0 }, 10*time.Second, time.Millisecond)
}

func directories(t *testing.T, g *Group) (n int) {
	t.Helper()
	for _, s := range g.spots {
		_, err := os.Lstat(s.d.path(""))
		if err == nil {
			n++
			continue
		}
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	return n
}

func TestCloseKillsWhatIsLeft(t *testing.T) {
	m := open(t)
	g, err := m.Acquire(Limits{PIDs: 64, MemoryBytes: 64 << 20})
	require.NoError(t, err)
	c := command("wait 0", g.Procs())
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return population(t, g) > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, m.Close())
	assert.Error(t, c.Wait())
	assert.Zero(t, directories(t, g))
	g.Release()
	_, err = m.Acquire(Limits{PIDs: 1})
	assert.ErrorIs(t, err, os.ErrClosed)
}

// TestVanished removes a group's directories under it, as an administrator may.
func TestVanished(t *testing.T) {
	m := open(t)
	g, err := m.Acquire(Limits{PIDs: 8, MemoryBytes: 64 << 20})
	require.NoError(t, err)
	for _, s := range g.spots {
		require.NoError(t, os.Remove(s.d.path("")))
	}
	_, err = g.Usage()
	assert.Error(t, err)
	assert.NoError(t, g.Kill())
	g.Release()
}

// TestForeignDirectory leaves a directory with the next call's name to whoever made it.
func TestForeignDirectory(t *testing.T) {
	m := open(t)
	h := m.hierarchy(PIDs)
	foreign := filepath.Join(h.inst.root.Name(), "call-1")
	require.NoError(t, os.Mkdir(foreign, 0o755))
	g := acquire(t, m, Limits{PIDs: 8})
	for _, s := range g.spots {
		assert.NotEqual(t, foreign, s.d.path(""))
	}
}
