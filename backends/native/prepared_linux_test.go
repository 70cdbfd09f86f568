package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// preparedRoots are the specifications of the roots that calls can start from, each once for each time that a call asked
// for it.
func (b *Backend) preparedRoots() (specs []confine.Root, asked int) {
	for _, l := range b.spawners() {
		l.roots.mu.Lock()
		for _, r := range l.roots.list {
			if r.mounts != nil {
				specs, asked = append(specs, r.spec), asked+r.asked
			}
		}
		l.roots.mu.Unlock()
	}
	return specs, asked
}

// waitForRoot makes calls until one of the backend's lanes has a prepared root, and returns what is in it.
func waitForRoot(t *testing.T, b *Backend, p sandbox.ContainerProfile) confine.Root {
	t.Helper()
	var found []confine.Root
	require.Eventually(t, func() bool {
		_, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"true"}})
		require.NoError(t, err)
		found, _ = b.preparedRoots()
		return len(found) > 0
	}, 20*time.Second, 10*time.Millisecond)
	return found[0]
}

// mustStartPrepared makes a call that has to start in a prepared root.
func (b *Backend) mustStartPrepared(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	t.Helper()
	_, before := b.preparedRoots()
	r, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	_, after := b.preparedRoots()
	require.Equal(t, before+1, after)
	return r
}

// inventory prints what a program can tell about its root: every file with its type, mode, size and link, what is mounted and
// how, and what can be written. Ids of mounts, devices, users and processes differ between any two calls. What is different
// by intent is left out: a prepared root is read-only as a file system, too, and has a second proc below its own.
const inventory = `
find / -xdev -path /proc -prune -o -path /usr -prune -o -printf '%p %y %m %s %l\n' | sort
sed -E 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ //; s/,[ug]id=[0-9]+//g; s/(none) r[ow],size=16384k/\1 size=16384k/' /proc/self/mountinfo | sort
ls /proc | grep -v '^[0-9]' | sort
hostname; id; pwd; umask; ls -l /proc/self/fd | wc -l; cat /etc/passwd /etc/hosts /proc/1/cgroup
for d in / /etc /usr /dev /proc /proc/sys /tmp /dev/shm /run; do (echo x >"$d/probe.$$") 2>/dev/null && echo "writes $d"; done
mkdir /made 2>&1; chmod 777 / 2>&1; rm /etc/hosts 2>&1
`

func TestPreparedRootIsTheSameRoot(t *testing.T) {
	b := testBackend(t)
	p := sandbox.ContainerProfile{}
	c := sandbox.Command{Argv: []string{"sh", "-c", inventory}}
	own, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Contains(t, string(own.Stdout), "writes /tmp", "control")
	waitForRoot(t, b, p)
	prepared := b.mustStartPrepared(t, p, c)
	assert.Equal(t, string(own.Stdout), withoutSecondProc(t, prepared.Stdout))
	assert.Equal(t, own.Enforcement, prepared.Enforcement)
}

// withoutSecondProc leaves out of an inventory the line of the one mount that only a prepared root has.
func withoutSecondProc(t *testing.T, out []byte) string {
	t.Helper()
	var kept []string
	procs := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "/ /proc ") {
			if procs++; procs == 2 {
				continue
			}
		}
		kept = append(kept, line)
	}
	assert.Equal(t, 2, procs)
	return strings.Join(kept, "")
}

// A call with declared mounts finds their mount points in the root, and its own scratch. An ordinary user's mounts are
// opened by their path, so its calls make their root themselves.
func TestPreparedRootWithMounts(t *testing.T) {
	b := testBackend(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("there\n"), 0o644))
	p := sandbox.ContainerProfile{Binds: []sandbox.Mount{
		{Source: dir, Target: "/deep/er"}, {Source: filepath.Join(dir, "file"), Target: "/one"}, {Source: dir, Target: "/tmp/in", Writable: true},
	}}
	c := command("cat /deep/er/file /one /tmp/in/file; echo x >/tmp/in/made; echo x 2>/dev/null >/deep/er/made || echo kept; ls /deep")
	own, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	require.Equal(t, "there\nthere\nthere\nkept\ner\n", string(own.Stdout), "control: %s", own.Stderr)
	if os.Geteuid() != 0 {
		for range 2 * rootAfter {
			again, err := b.Run(t.Context(), p, c)
			require.NoError(t, err)
			assert.Equal(t, string(own.Stdout), string(again.Stdout))
		}
		for _, l := range b.spawners() {
			assert.Empty(t, l.roots.list)
		}
		return
	}
	assert.Equal(t, []confine.Target{{Path: "/deep/er"}, {Path: "/one", File: true}}, waitForRoot(t, b, p).Targets)
	prepared := b.mustStartPrepared(t, p, c)
	assert.Equal(t, string(own.Stdout), string(prepared.Stdout))
}

// A root is given up when one of the files that it shows was replaced on the host, as ldconfig(8) replaces its cache.
func TestPreparedRootOfReplacedFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	want := confine.Root{Image: &rootfs.Image{Binds: []rootfs.Bind{{Source: file, Target: "/file", File: true}}}}
	var s roots
	asked := 0
	prepare := func(r *root) {
		asked++
		seen, err := boundFiles(want)
		require.NoError(t, err)
		r.mounts, r.seen = os.Stdin, seen
	}
	assert.Nil(t, s.get(want, prepare))
	assert.Zero(t, asked, "one call does not make it worth it")
	assert.NotNil(t, s.get(want, prepare))
	assert.NotNil(t, s.get(want, prepare))
	require.NoError(t, os.WriteFile(file+".new", nil, 0o644))
	require.NoError(t, os.Rename(file+".new", file))
	assert.Nil(t, s.get(want, prepare))
	assert.Empty(t, s.list)
	assert.Equal(t, 1, asked)
	assert.Nil(t, s.get(want, prepare), "the next one's first call")
	assert.NotNil(t, s.get(want, prepare))
	assert.Equal(t, 2, asked)
	require.NoError(t, os.Remove(file))
	assert.Nil(t, s.get(want, prepare), "it is gone")
	assert.Empty(t, s.list)
}

// There are never more roots than are kept, the ones used last.
func TestPreparedRootsAreBounded(t *testing.T) {
	var s roots
	for i := range 3 * maxRoots {
		s.get(confine.Root{Image: &rootfs.Image{}, Identity: rootfs.Identity{UID: uint32(i)}}, func(*root) {})
	}
	assert.Len(t, s.list, maxRoots)
	assert.Equal(t, uint32(3*maxRoots-1), s.list[0].spec.Identity.UID)
}

// openMemory counts this process's descriptors of mount namespaces and of plans.
func openMemory(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	n := 0
	for _, e := range entries {
		link, _ := os.Readlink("/proc/self/fd/" + e.Name()) // the directory's own is closed by now
		if strings.HasPrefix(link, "mnt:[") || strings.HasPrefix(link, "/memfd:plan") {
			n++
		}
	}
	return n
}

// Close ends a root that is being prepared, and leaves nothing behind: in this process, whose spawners are gone with their
// children, that is descriptors.
func TestPreparedRootIsClosedWithItsBackend(t *testing.T) {
	before := openMemory(t)
	use := func(wait bool) {
		b, err := Open(t.Context(), testConfig())
		require.NoError(t, err)
		for range rootAfter {
			b.(*Backend).must(t, "true")
		}
		if wait {
			waitForRoot(t, b.(*Backend), sandbox.ContainerProfile{})
			require.Greater(t, openMemory(t), before, "control")
		}
		require.NoError(t, b.Close())
	}
	for range 20 {
		use(false)
	}
	use(true)
	require.Eventually(t, func() bool { return openMemory(t) <= before }, 10*time.Second, 10*time.Millisecond)
}
