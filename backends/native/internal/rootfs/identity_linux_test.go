package rootfs

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func content(t *testing.T, files []File, name string) string {
	t.Helper()
	for _, f := range files {
		if f.Path == name {
			assert.EqualValues(t, 0o444, f.Mode, name)
			return string(f.Data)
		}
	}
	require.Fail(t, "missing", name)
	return ""
}

func TestSynthetic(t *testing.T) {
	files := Synthetic(Identity{UID: 65532, GID: 65533, Name: "tool", Hostname: "cell"})
	assert.Len(t, files, len(syntheticPaths))
	for _, f := range files {
		assert.Contains(t, syntheticPaths, f.Path)
	}
	passwd := content(t, files, "/etc/passwd")
	assert.Contains(t, passwd, "\ntool:x:65532:65533:tool:/tmp/home:/bin/sh\n")
	for line := range strings.SplitSeq(strings.TrimSpace(passwd), "\n") {
		assert.Len(t, strings.Split(line, ":"), 7, line)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(content(t, files, "/etc/group")), "\n") {
		assert.Len(t, strings.Split(line, ":"), 4, line)
	}
	assert.Contains(t, content(t, files, "/etc/group"), "\ntool:x:65533:\n")
	hosts := content(t, files, "/etc/hosts")
	assert.Contains(t, hosts, "127.0.0.1 localhost cell\n")
	assert.Contains(t, hosts, "::1 localhost")
	assert.NotContains(t, content(t, files, "/etc/resolv.conf"), "nameserver")
	assert.Contains(t, content(t, files, "/etc/nsswitch.conf"), "\nhosts: files\n")
}

// An id that has a well-known name gets one entry all the same.
func TestSyntheticNobody(t *testing.T) {
	files := Synthetic(Identity{UID: 65534, GID: 65534})
	assert.Equal(t, 1, strings.Count(content(t, files, "/etc/passwd"), ":65534:65534:"))
	assert.Equal(t, 1, strings.Count(content(t, files, "/etc/group"), ":65534:"))
}

func TestEnvironment(t *testing.T) {
	env := Environment(Identity{UID: 1, GID: 1}, "/usr/bin:/bin")
	values := map[string]string{}
	for _, e := range env {
		name, value, ok := strings.Cut(e, "=")
		require.True(t, ok, e)
		assert.NotContains(t, values, name)
		values[name] = value
	}
	assert.Equal(t, "/usr/bin:/bin", values["PATH"])
	assert.Equal(t, sandbox.HomeDir, values["HOME"])
	assert.Equal(t, "tool", values["USER"])
	assert.Equal(t, "C.UTF-8", values["LANG"])
	dirs := ScratchDirs()
	for name, value := range values {
		if name == "HOME" || strings.HasPrefix(name, "XDG_") {
			assert.Contains(t, dirs, value, name)
		}
	}
	made := map[string]bool{"/tmp": true}
	for _, d := range dirs {
		assert.True(t, made[path.Dir(d)], "%s comes before its parent", d)
		made[d] = true
	}
}

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		argv0, path string
		want        []string
	}{
		{"sh", "/usr/bin:/bin", []string{"/usr/bin/sh", "/bin/sh"}},
		{"sh", "/usr/bin/", []string{"/usr/bin/sh"}},
		{"sh", "/", []string{"/sh"}},
		{"sh", ":/bin", []string{"./sh", "/bin/sh"}},
		{"sh", "", []string{"./sh"}},
		{"./sh", "/bin", []string{"./sh"}},
		{"/bin/sh", "/usr/bin", []string{"/bin/sh"}},
		{"a/b", "/usr/bin", []string{"a/b"}},
		{"", "/usr/bin", nil},
	} {
		assert.Equal(t, c.want, Candidates(c.argv0, c.path), "%q in %q", c.argv0, c.path)
	}
}

func TestProcLists(t *testing.T) {
	dirs, files := MaskedProc()
	for _, p := range append(append(dirs, files...), ReadonlyProc()...) {
		assert.True(t, strings.HasPrefix(p, "/proc/"), p)
	}
	assert.Contains(t, ReadonlyProc(), "/proc/sys")
	assert.Contains(t, present("/proc/self", "/proc/nothing-of-this-name"), "/proc/self")
	assert.NotContains(t, present("/proc/self", "/proc/nothing-of-this-name"), "/proc/nothing-of-this-name")
}
