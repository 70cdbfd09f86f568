package native

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// waitForRoot makes calls until one of the backend's lanes has a prepared root, and returns it.
func waitForRoot(t *testing.T, b *Backend, p sandbox.ContainerProfile) *root {
	t.Helper()
	var found *root
	require.Eventually(t, func() bool {
		_, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"true"}})
		require.NoError(t, err)
		for _, l := range b.lanes.list {
			l.roots.mu.Lock()
			for _, r := range l.roots.list {
				if r.mounts != nil {
					found = r
				}
			}
			l.roots.mu.Unlock()
		}
		return found != nil
	}, 20*time.Second, 10*time.Millisecond)
	return found
}

// inventory prints what a program can tell about its root: every file with its type, mode, size and link, what is mounted and
// how, and what can be written. Ids of mounts, devices, users and processes differ between any two calls. What is different
// by intent is left out: a prepared root is read-only as a file system, too, and has a second proc below its own.
const inventory = `
find / -xdev -path /proc -prune -o -path /usr -prune -o -printf '%p %y %m %s %l\n' | sort
sed -E 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ //; s/,[ug]id=[0-9]+//g; s/(none) r[ow],size=16384k/\1 size=16384k/' /proc/self/mountinfo | sort -u
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
	prepared, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.Equal(t, string(own.Stdout), string(prepared.Stdout))
	assert.Equal(t, own.Enforcement, prepared.Enforcement)
}

// A call with declared mounts finds their mount points in the root, and its own scratch.
func TestPreparedRootWithMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's mounts are opened by their path, so its calls make their root themselves")
	}
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
	r := waitForRoot(t, b, p)
	assert.Equal(t, []confine.Target{{Path: "/deep/er"}, {Path: "/one", File: true}}, r.spec.Targets)
	prepared, err := b.Run(t.Context(), p, c)
	require.NoError(t, err)
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
	require.NoError(t, os.Remove(file))
	s.get(want, prepare)
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

// Close ends a root that is being prepared, and leaves nothing behind.
func TestPreparedRootIsClosedWithItsBackend(t *testing.T) {
	for range 20 {
		b, err := Open(t.Context(), testConfig())
		require.NoError(t, err)
		for range rootAfter {
			b.(*Backend).must(t, "true")
		}
		require.NoError(t, b.Close())
	}
}
