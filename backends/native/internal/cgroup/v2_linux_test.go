package cgroup

import (
	"fmt"
	"io/fs"
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

// A kernel whose controllers are on v1 has nothing to limit on v2, so layout and files are tested on a directory tree that
// is filled the way the kernel fills a new group; what the kernel does with them is for the tests on other kernels. A real
// cgroup2 mount serves for killing.

func groupFiles() map[string]string {
	return map[string]string{
		"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.subtree_control": "", "cgroup.procs": "",
		"memory.max": "max\n", "memory.swap.max": "max\n", "memory.oom.group": "0\n", "memory.peak": "8192\n",
		"memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 1\n",
		"pids.max":      "max\n", "pids.peak": "7\n", "pids.events": "max 5\n", "cpu.max": "max 100000\n",
		"cpu.stat": "usage_usec 3000\nuser_usec 1000\nsystem_usec 2000\n",
	}
}

// fakeV2 has the process in /own of a v2-only system; edit changes the files of every new directory.
func fakeV2(t *testing.T, edit func(files map[string]string)) (c Config, base string) {
	t.Helper()
	top := t.TempDir()
	base = filepath.Join(top, "own")
	require.NoError(t, os.Mkdir(base, 0o755))
	require.NoError(t, fill(groupFiles())(base))
	files := groupFiles()
	if edit != nil {
		edit(files)
	}
	mounts := fmt.Sprintf("1 2 0:3 / %s rw - cgroup2 c rw\n", top)
	return Config{Mounts: writeSource(t, mounts, "0::/own\n", swapHeading), Ahead: -1, standIn: fill(files)}, base
}

func assertFile(t *testing.T, want, dir, name string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	assert.Equal(t, want, string(got), name)
}

func TestV2Layout(t *testing.T) {
	c, base := fakeV2(t, nil)
	m, err := Open(c)
	require.NoError(t, err)
	for _, name := range []string{Memory, PIDs, CPU, CPUAcct} {
		assert.NoError(t, m.Controller(name))
	}
	assert.Equal(t, "memory.max, memory.swap.max, memory.oom.group (cgroup v2)", m.Mechanism(Memory))
	inst := m.found[0].inst.root.Name()
	assert.Equal(t, base, filepath.Dir(inst))
	require.NoError(t, m.PlaceSpawner(4711))
	require.NoError(t, m.PlaceSpawner(4712), "a second spawner goes to the same leaf")
	assertFile(t, "4712", filepath.Join(inst, "spawner"), "cgroup.procs")

	g, err := m.Acquire(Limits{MemoryBytes: 32 << 20, PIDs: 20, CPUs: 1.5})
	require.NoError(t, err)
	require.Len(t, g.spots, 1)
	at := g.spots[0].d.path("")
	assert.Equal(t, inst, filepath.Dir(at))
	for name, want := range map[string]string{
		"memory.max": strconv.Itoa(32 << 20), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "20",
		"cpu.max": "150000 100000",
	} {
		assertFile(t, want, at, name)
	}
	assert.Len(t, g.Procs(), 1)
	assert.Nil(t, g.OOMEvent())
	assert.True(t, g.CPUFormat())
	u, err := g.Usage()
	require.NoError(t, err)
	peak, most := int64(8192), int64(7)
	assert.Equal(t, Usage{
		CPUUser: time.Millisecond, CPUSystem: 2 * time.Millisecond, MaxMemory: &peak, MaxProcesses: &most, OOMKills: 2, PIDsMax: 5,
	}, u)
	g.Release()
	require.NoError(t, m.Close())
	assert.NoDirExists(t, inst)
}

func TestV2Unlimited(t *testing.T) {
	c, _ := fakeV2(t, nil)
	m, err := Open(c)
	require.NoError(t, err)
	defer m.Close()
	g, err := m.Acquire(Limits{})
	require.NoError(t, err)
	assertFile(t, "max\n", g.spots[0].d.path(""), "memory.max")
	assertFile(t, "max\n", g.spots[0].d.path(""), "pids.max")
}

// TestV2OlderKernel has no peaks (5.19, 6.1): the figures are unknown, not 0.
func TestV2OlderKernel(t *testing.T) {
	c, _ := fakeV2(t, func(f map[string]string) { delete(f, "memory.peak"); delete(f, "pids.peak") })
	m, err := Open(c)
	require.NoError(t, err)
	defer m.Close()
	g, err := m.Acquire(Limits{MemoryBytes: 32 << 20, PIDs: 20})
	require.NoError(t, err)
	u, err := g.Usage()
	require.NoError(t, err)
	assert.Nil(t, u.MaxMemory)
	assert.Nil(t, u.MaxProcesses)
}

// TestV2MissingController has a parent that passes on all but memory, as user sessions of older systemd do with cpu.
func TestV2MissingController(t *testing.T) {
	c, _ := fakeV2(t, func(f map[string]string) { f["cgroup.controllers"] = "cpu pids\n" })
	m, err := Open(c)
	require.NoError(t, err)
	defer m.Close()
	assert.NoError(t, m.Controller(PIDs))
	assert.Equal(t, fixMissing, fixOf(t, m.Controller(Memory)))
	_, err = m.Acquire(Limits{MemoryBytes: 1 << 20})
	assert.Equal(t, fixMissing, fixOf(t, err))
	g, err := m.Acquire(Limits{PIDs: 3, CPUs: 1})
	require.NoError(t, err)
	g.Release()
}

func TestV2SwapWithoutAccounting(t *testing.T) {
	c, _ := fakeV2(t, func(f map[string]string) { delete(f, swapMax) })
	m, err := Open(c)
	require.NoError(t, err)
	assert.NoError(t, m.Controller(Memory), "control: without swap nothing is missing")
	require.NoError(t, m.Close())
	require.NoError(t, os.WriteFile(c.Mounts.Swaps, []byte(swapHeading+"/swap file 1 0 -2\n"), 0o600))
	m, err = Open(c)
	require.NoError(t, err)
	defer m.Close()
	assert.Equal(t, fixSwap, fixOf(t, m.Controller(Memory)))
}

// TestV2Bases looks for a place to be: the own cgroup, then delegated ancestors.
func TestV2Bases(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "a/b/c"), 0o755))
	p := place{v2: true, mount: top, own: "/a/b/c"}
	bases, err := basesV2(p, "")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(top, "a/b/c")}, bases, "control: nothing is delegated")
	bases, err = basesV2(p, "x")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(top, "x")}, bases)
	err = unix.Setxattr(filepath.Join(top, "a"), "user.delegate", []byte("1"), 0)
	if err != nil {
		err = unix.Setxattr(filepath.Join(top, "a"), "trusted.delegate", []byte("1"), 0)
	}
	require.NoError(t, err)
	bases, err = basesV2(p, "")
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(top, "a/b/c"), filepath.Join(top, "a")}, bases)
}

// TestV2Kill uses cgroup.kill of a real cgroup2 mount on a tree that forks.
func TestV2Kill(t *testing.T) {
	d := realV2(t)
	procs, err := d.open("cgroup.procs", unix.O_WRONLY)
	require.NoError(t, err)
	defer procs.Close()
	c := exec.Command("/bin/sh", "-c", `echo 0 >&3; for i in 1 2 3 4; do (while :; do sleep 0.01; done) & done; wait`)
	c.ExtraFiles = []*os.File{procs}
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { pids, err := d.processes(); return err == nil && len(pids) >= 5 }, 10*time.Second, time.Millisecond)
	require.NoError(t, removeTree(d, time.Now().Add(10*time.Second)))
	assert.Error(t, c.Wait())
	assert.True(t, signaled(c.ProcessState))
	assert.NoDirExists(t, d.path(""))
}

// TestV2MakeRoom has a tree that forks in a directory, which is emptied only when it is marked as delegated.
func TestV2MakeRoom(t *testing.T) {
	d := realV2(t)
	procs, err := d.open("cgroup.procs", unix.O_WRONLY)
	require.NoError(t, err)
	defer procs.Close()
	c := exec.Command("/bin/sh", "-c", `echo 0 >&3; for i in 1 2 3 4; do (while :; do sleep 0.01; done) & done; wait`)
	c.ExtraFiles = []*os.File{procs}
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Wait() })
	t.Cleanup(func() { assert.NoError(t, removeTree(d, time.Now().Add(10*time.Second))) })
	require.Eventually(t, func() bool { pids, err := d.processes(); return err == nil && len(pids) >= 5 }, 10*time.Second, time.Millisecond)
	m := newManager(Config{})

	made, err := m.makeRoom(d.path(""))
	require.NoError(t, err)
	assert.False(t, made, "what nobody delegated is left alone")
	if err := unix.Setxattr(d.path(""), "user.delegate", []byte("1"), 0); err != nil {
		require.NoError(t, unix.Setxattr(d.path(""), "trusted.delegate", []byte("1"), 0))
	}
	made, err = m.makeRoom(d.path(""))
	require.NoError(t, err)
	assert.True(t, made)
	pids, err := d.processes()
	require.NoError(t, err)
	assert.Empty(t, pids)
	pids, err = d.sub(roomDir).processes()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(pids), 5)
}

// realV2 makes a directory in this process's own v2 cgroup.
func realV2(t *testing.T) dir {
	t.Helper()
	mounts, members, err := Source{}.load()
	require.NoError(t, err)
	for _, m := range members {
		if !m.v2 {
			continue
		}
		p, err := locate(mounts, m)
		require.NoError(t, err)
		base, err := p.base("")
		require.NoError(t, err)
		at := filepath.Join(base, newName()+"-test")
		require.NoError(t, os.Mkdir(at, 0o755))
		d, err := openDir(at)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, removeTree(d, time.Now().Add(time.Second))); d.root.Close() })
		return d
	}
	require.NotEqual(t, "1", os.Getenv("TOOLCELL_TEST_REQUIRE"), "no cgroup2")
	t.Skip("no cgroup2 here")
	return dir{}
}

// TestScopeWithoutSystemd asks where nobody answers.
func TestScopeWithoutSystemd(t *testing.T) {
	if (systemd{}).askable() == nil {
		t.Log("systemd answers here; the scope itself is tested on the kernels that have v2 controllers")
		return
	}
	ctx, cancel := scopeContext()
	defer cancel()
	_, err := Scope(ctx, os.Getpid())
	assert.ErrorContains(t, err, "scope: ")
}

func TestWhereIs(t *testing.T) {
	_, err := whereIs(os.Getpid(), "toolcell-none.scope")
	assert.ErrorIs(t, err, errNotMoved)
	_, err = whereIs(1<<30, "x")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Who forks gets what it needs to have processes born in the groups, and nothing else.
func TestV2Forker(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	c, _ := fakeV2(t, nil)
	c.Forker = 4711
	m, err := Open(c)
	require.NoError(t, err)
	defer m.Close()
	require.NoError(t, m.PlaceSpawner(1))
	g, err := m.Acquire(Limits{MemoryBytes: 32 << 20, PIDs: 20, CPUs: 1})
	require.NoError(t, err)
	require.NotNil(t, g.Into())
	var given []string
	inst := m.found[0].inst.root.Name()
	require.NoError(t, filepath.WalkDir(inst, func(path string, d fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if err == nil && st.Uid == c.Forker {
			given = append(given, strings.TrimPrefix(path, inst))
		}
		return err
	}))
	assert.Equal(t, []string{strings.TrimPrefix(g.spots[0].d.path("cgroup.procs"), inst), "/cgroup.procs"}, given)
	g.Release()
}
