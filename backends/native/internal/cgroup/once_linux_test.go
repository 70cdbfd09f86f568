package cgroup

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openOnce(t *testing.T) *Manager {
	t.Helper()
	m, err := Open(Config{Once: true})
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skip("no cgroups to use here:", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func TestOnceLimits(t *testing.T) {
	m := openOnce(t)
	tight := Limits{MemoryBytes: 48 << 20, PIDs: 16, CPUs: 1}
	m.Expect(tight)
	for _, name := range []string{Memory, PIDs, CPU, CPUAcct} {
		assert.NoError(t, m.Controller(name))
		assert.NotEmpty(t, m.Mechanism(name))
	}
	g := acquire(t, m, tight)
	assert.Zero(t, run(t, "touch 96", nil).ExitCode(), "control: without a group the memory is there")
	assert.True(t, signaled(run(t, "touch 96", g)), "the kernel kills it")
	u, err := g.Usage()
	require.NoError(t, err)
	assert.Positive(t, u.OOMKills)

	wide := acquire(t, m, Limits{MemoryBytes: 256 << 20, PIDs: 16, CPUs: 1})
	assert.Zero(t, run(t, "touch 96", wide).ExitCode(), "a second group has limits of its own")
	u, err = wide.Usage()
	require.NoError(t, err)
	assert.Zero(t, u.OOMKills)
}

func TestOnceOtherLimitsThanExpected(t *testing.T) {
	m := openOnce(t)
	m.Expect(Limits{MemoryBytes: 256 << 20})
	g := acquire(t, m, Limits{MemoryBytes: 48 << 20})
	assert.True(t, signaled(run(t, "touch 96", g)), "what is asked for holds, not what was expected")
}

func TestOnceLeavesNothing(t *testing.T) {
	m := openOnce(t)
	l := Limits{MemoryBytes: 64 << 20, PIDs: 16, CPUs: 1}
	m.Expect(l)
	first, second := acquire(t, m, l), acquire(t, m, l)
	sleeper := command("sleep 60000", second.Procs())
	require.NoError(t, sleeper.Start())
	ended := make(chan error, 1)
	go func() { ended <- sleeper.Wait() }()
	require.Eventually(t, func() bool {
		for _, s := range second.spots {
			if pids, err := s.d.processes(); err != nil || len(pids) == 0 {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond, "control: a process is in the second group")
	var dirs []string
	for _, g := range []*Group{first, second} {
		for _, s := range g.spots {
			dirs = append(dirs, s.d.path(""))
		}
		g.Release()
	}
	require.NotEmpty(t, dirs)
	require.NoError(t, m.Close())
	assert.Error(t, <-ended, "it was killed")
	for _, d := range dirs {
		assert.NoDirExists(t, d)
	}
}

func TestOnceSweepsDeadInstances(t *testing.T) {
	n := startNeighbour(t)
	require.NoError(t, n.cmd.Process.Kill())
	require.Error(t, n.cmd.Wait())
	for _, d := range n.dirs {
		require.DirExists(t, d, "control: kill -9 leaves the directories behind")
	}
	m := openOnce(t)
	acquire(t, m, Limits{PIDs: 4})
	require.NoError(t, m.Close())
	for _, d := range n.dirs {
		assert.NoDirExists(t, d)
	}
}

func TestOnceV2(t *testing.T) {
	c, _ := fakeV2(t, nil)
	c.Ahead, c.Once = 0, true
	m, err := Open(c)
	require.NoError(t, err)
	l := Limits{MemoryBytes: 64 << 20, PIDs: 4, CPUs: 0.5}
	m.Expect(l)
	require.NoError(t, m.PlaceSpawner(os.Getpid()))
	g := acquire(t, m, l)
	require.Len(t, g.spots, 1)
	assert.NotEqual(t, ".", g.spots[0].d.rel, "the spawner lives in the instance's own directory")
	assertFile(t, "4", g.spots[0].d.path(""), "pids.max")
	require.NoError(t, m.Close())
}

func TestOnceMissingController(t *testing.T) {
	c, _ := fakeV2(t, func(files map[string]string) { delete(files, "pids.max") })
	c.Ahead, c.Once = 0, true
	m, err := Open(c)
	require.NoError(t, err)
	defer m.Close()
	m.Expect(Limits{MemoryBytes: 64 << 20, PIDs: 4, CPUs: 0.5})
	assert.Error(t, m.Controller(PIDs), "found by trying")
	assert.NoError(t, m.Controller(Memory))
	_, err = m.Acquire(Limits{PIDs: 4})
	assert.Error(t, err)
}
