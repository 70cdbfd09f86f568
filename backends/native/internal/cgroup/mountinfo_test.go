package cgroup

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The texts are what kernels print in the situations named.
const (
	hybridMounts = `22 26 0:21 / /sys rw,relatime - sysfs sysfs rw
30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
34 30 0:31 / /sys/fs/cgroup/memory rw,relatime shared:10 master:3 - cgroup cgroup rw,memory
38 30 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
39 30 0:36 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
40 30 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
`
	hybridOwn = `9:name=systemd:/
8:pids:/user.slice
4:memory:/user.slice
1:cpu,cpuacct:/user.slice
0::/user.slice/session-1.scope
`
)

func TestParseMountinfo(t *testing.T) {
	mounts, err := parseMountinfo(hybridMounts)
	require.NoError(t, err)
	require.Len(t, mounts, 5)
	assert.Equal(t, mount{
		root: "/", point: "/sys/fs/cgroup/cpu,cpuacct", controllers: []string{"rw", "cpu", "cpuacct"},
	}, mounts[0])
	assert.Equal(t, mount{root: "/", point: "/sys/fs/cgroup/unified", v2: true}, mounts[4])
}

func TestParseMountinfoEscapesAndReadOnly(t *testing.T) {
	mounts, err := parseMountinfo(`1 2 0:3 /a\040b\134c /mnt/x\011y\012z ro,nosuid - cgroup2 cgroup2 rw` + "\n" +
		`1 2 0:3 /.. /b rw - cgroup  ro,pids`)
	require.NoError(t, err)
	assert.Equal(t, []mount{
		{root: `/a b\c`, point: "/mnt/x\ty\nz", v2: true, readOnly: true},
		{root: "/..", point: "/b", readOnly: true, controllers: []string{"ro", "pids"}},
	}, mounts)
}

func TestParseMountinfoRefuses(t *testing.T) {
	for _, line := range []string{"x", "1 2 0:3 / /a rw", "1 2 0:3 / /a rw - cgroup", "- - - - - - - -"} {
		_, err := parseMountinfo(line)
		assert.Error(t, err, line)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`a\040b`: "a b", `\134`: `\`, `\400`: `\400`, `\08`: `\08`, `\`: `\`, `\18`: `\18`, "": "", `\377`: "\xff",
	} {
		assert.Equal(t, want, unescape(in), in)
	}
}

func TestParseMemberships(t *testing.T) {
	got, err := parseMemberships("1:cpu,cpuacct:/a:b\n9:name=systemd:/\n0::/x y\n")
	require.NoError(t, err)
	assert.Equal(t, []membership{
		{controllers: []string{"cpu", "cpuacct"}, path: "/a:b"},
		{controllers: []string{"name=systemd"}, path: "/"},
		{v2: true, path: "/x y"},
	}, got)
	for _, bad := range []string{"x\n", "1:pids\n", "1:pids:relative\n"} {
		_, err := parseMemberships(bad)
		assert.Error(t, err, bad)
	}
}

func TestRelative(t *testing.T) {
	for _, c := range []struct{ root, path, want string }{
		{"/", "/", "/"},
		{"/", "/a/b", "/a/b"},
		{"/docker/1", "/docker/1", "/"},
		{"/docker/1", "/docker/1/x", "/x"},
		{"/..", "/../sibling", "/sibling"},
		{"/../..", "/../../x/y", "/x/y"},
	} {
		got, err := relative(c.root, c.path)
		require.NoError(t, err, c)
		assert.Equal(t, c.want, got, c)
	}
	for _, c := range [][2]string{
		{"/", "/.."}, {"/", "/../x"}, {"/docker/1", "/docker/12"}, {"/docker/1", "/"}, {"/..", "/"}, {"/../..", "/../x"},
		{"/..", "/../.."},
	} {
		_, err := relative(c[0], c[1])
		assert.ErrorIs(t, err, errHidden, c)
	}
}

func TestLocate(t *testing.T) {
	mounts, err := parseMountinfo(hybridMounts)
	require.NoError(t, err)
	own, err := parseMemberships(hybridOwn)
	require.NoError(t, err)
	var got []string
	for _, m := range own {
		p, err := locate(mounts, m)
		require.NoError(t, err)
		base, err := p.base("")
		require.NoError(t, err)
		got = append(got, base)
	}
	assert.Equal(t, []string{
		"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids/user.slice", "/sys/fs/cgroup/memory/user.slice",
		"/sys/fs/cgroup/cpu,cpuacct/user.slice", "/sys/fs/cgroup/unified/user.slice/session-1.scope",
	}, got)
	_, err = locate(mounts, membership{controllers: []string{"blkio"}, path: "/"})
	assert.Error(t, err)
}

// TestLocatePrefers sees a hierarchy twice, as in a container that was given the host's mounts too.
func TestLocatePrefers(t *testing.T) {
	pids := membership{controllers: []string{"pids"}, path: "/docker/1"}
	for name, c := range map[string]struct{ mounts, want string }{
		"writable": {"1 2 0:3 / /rw rw - cgroup c rw,pids\n1 2 0:3 / /ro ro - cgroup c rw,pids\n", "/rw"},
		"last":     {"1 2 0:3 / /a rw - cgroup c rw,pids\n1 2 0:3 / /b rw - cgroup c rw,pids\n", "/b"},
		"nameable": {"1 2 0:3 /docker/1 /a rw - cgroup c rw,pids\n1 2 0:3 /other /b rw - cgroup c rw,pids\n", "/a"},
	} {
		mounts, err := parseMountinfo(c.mounts)
		require.NoError(t, err, name)
		p, err := locate(mounts, pids)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, p.mount, name)
	}
}

func TestBase(t *testing.T) {
	p := place{mount: "/cg", own: "/a"}
	for parent, want := range map[string]string{"": "/cg/a", "/": "/cg", "x/y": "/cg/x/y", "/x/": "/cg/x", "..x": "/cg/..x"} {
		got, err := p.base(parent)
		require.NoError(t, err, parent)
		assert.Equal(t, want, got, parent)
	}
	for _, parent := range []string{"..", "a/../b", "/../x", "a\x00b"} {
		_, err := p.base(parent)
		assert.Error(t, err, parent)
	}
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add(hybridMounts)
	f.Add(`1 2 0:3 /a\040b /mnt/x\011y ro - cgroup2  rw`)
	f.Add(`1 2 0:3 / / rw - - cgroup - cgroup`)
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := parseMountinfo(text)
		if err != nil {
			assert.Empty(t, mounts)
			return
		}
		assert.LessOrEqual(t, len(mounts), strings.Count(text, "cgroup"))
	})
}

func FuzzLocate(f *testing.F) {
	f.Add("1:pids:/a\n", "1 2 0:3 / /cg rw - cgroup c rw,pids\n", "")
	f.Add("0::/../x\n", "1 2 0:3 /.. /cg rw - cgroup2 c rw\n", "a/b")
	f.Fuzz(func(t *testing.T, own, info, parent string) {
		mounts, err := parseMountinfo(info)
		if err != nil {
			return
		}
		members, err := parseMemberships(own)
		if err != nil {
			return
		}
		for _, m := range members {
			p, err := locate(mounts, m)
			if err != nil {
				continue
			}
			assert.NotContains(t, strings.Split(p.own, "/"), "..")
			base, err := p.base(parent)
			if err == nil {
				assert.True(t, below(path.Clean(p.mount), base), "%q below %q", base, p.mount)
			}
		}
	})
}

func below(top, p string) bool {
	rel, err := filepath.Rel(top, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

func FuzzUnescape(f *testing.F) {
	f.Add(`a\040b`)
	f.Fuzz(func(t *testing.T, s string) {
		got := unescape(s)
		assert.LessOrEqual(t, len(got), len(s))
		if !strings.Contains(s, `\`) {
			assert.Equal(t, s, got)
		}
	})
}
