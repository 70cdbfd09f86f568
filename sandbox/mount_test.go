//go:build !windows

package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseMount(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Mount
	}{
		{"/a:/b", Mount{"/a", "/b", true, true, false}},
		{"/a:/b:ro", Mount{"/a", "/b", false, true, false}},
		{"/a:/b:rw", Mount{"/a", "/b", true, true, false}},
		{"/a:/b:ro,noexec", Mount{"/a", "/b", false, false, false}},
		{"/a:/b:noexec,rbind", Mount{"/a", "/b", true, false, true}},
		{"/a:/b:exec,bind,rprivate,nosuid,nodev,cached", Mount{"/a", "/b", true, true, false}},
		{"/a/:/b/:ro", Mount{"/a", "/b", false, true, false}},
		{"//a/./c:/b//d", Mount{"/a/c", "/b/d", true, true, false}},
		{"/a b,c'd\"e\\f\ng\xff:/x y", Mount{"/a b,c'd\"e\\f\ng\xff", "/x y", true, true, false}},
		{"/tmp/x:/tmp/x", Mount{"/tmp/x", "/tmp/x", true, true, false}},
	} {
		got, err := ParseMount(c.in)
		require.NoError(t, err, "%q", c.in)
		assert.Equal(t, c.want, got, "%q", c.in)
	}
}

func TestParseMountRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                  "no target",
		"/a":                "no target",
		":":                 "empty",
		":/b":               "empty",
		"/a:":               "empty",
		"/a::ro":            "empty",
		"/a:/b:":            "empty",
		"/a:/b:ro:":         "colons",
		"/a:/b:/c:ro":       "colons",
		"/a:b:/c":           "not known",
		"a:/b":              "absolute path",
		"./a:/b":            "absolute path",
		"~/a:/b":            "absolute path",
		"vol:/b":            "absolute path",
		" /a:/b":            "absolute path",
		"/a:b":              "absolute path",
		"/a:/b:RO":          "not known",
		"/a:/b:ro ":         "not known",
		"/a:/b:ro,":         "not known",
		"/a:/b:ro,rw":       "exclude",
		"/a:/b:ro,ro":       "exclude",
		"/a:/b:exec,noexec": "exclude",
		"/a:/b:bind,rbind":  "exclude",
		"/a:/b:z":           "relabels",
		"/a:/b:ro,Z":        "relabels",
		"/a:/b:U":           "owner",
		"/a:/b:rshared":     "host",
		"/a:/b:suid":        "setuid",
		"/a:/b:dev":         "device",
		"/a:/b:nocopy":      "volumes",
		"/a/../etc:/b":      "shortest form",
		"/a:/b/../etc":      "shortest form",
		"/a\x00b:/b":        "NUL",
		"/a:/b\x00":         "NUL",
		"/:/b":              "whole host",
		"/a:/":              "hides",
	} {
		_, err := ParseMount(in)
		require.Error(t, err, "%q", in)
		assert.ErrorIs(t, err, ErrInvalid, "%q", in)
		assert.ErrorContains(t, err, why, "%q", in)
		assert.NotContains(t, err.Error(), "\n")
	}
}

// A mount that the notation can express is read back as it was.
func TestMountString(t *testing.T) {
	for _, m := range []Mount{
		{}, {"/a", "/b", true, true, true}, {"/a", "/b", false, false, false}, {"/a,b", "/tmp/c", false, true, true},
	} {
		got, err := ParseMount(m.String())
		if m.Source == "" {
			assert.ErrorIs(t, err, ErrInvalid)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, m, got)
	}
	assert.Equal(t, `"/a:b":"/c\nd":ro,noexec`, Mount{Source: "/a:b", Target: "/c\nd"}.String())
}

func TestMountValidateAnyByte(t *testing.T) {
	for b := 1; b < 256; b++ {
		if b == '/' {
			continue
		}
		name := "/data/x" + string([]byte{byte(b)}) + "y"
		assert.NoError(t, Mount{Source: name, Target: name}.Validate(), "byte %#x", b)
	}
	assert.NoError(t, Mount{Source: "/data/" + strings.Repeat("n", 255), Target: "/x"}.Validate())
}

func TestMountValidateSource(t *testing.T) {
	for _, source := range []string{
		"", "/", "a", "./a", "/a/", "/a//b", "/a/./b", "/a/..", "/../a", "/proc", "/proc/self", "/proc/1/root", "/sys", "/sys/fs/cgroup",
		"/dev", "/dev/shm", "/dev/shm/x", "/etc", "/etc/passwd", "/etc/toolcell", "/boot", "/boot/x", "/home", "/root", "/Users", "/run", "/var", "/var/run",
		"/var/lib", "/data/" + strings.Repeat("n", 256), strings.Repeat("/nnnnnnn", 512), "/a\x00",
	} {
		err := Mount{Source: source, Target: "/x"}.Validate()
		assert.ErrorIs(t, err, ErrInvalid, "%q", source)
	}
	for _, source := range []string{
		"/etcetera", "/processes", "/system", "/devel/x", "/home/u/ws", "/run/x", "/var/x", "/usr", "/usr/share/x", "/bootstrap", "/tmp", "/opt/x", "/…",
	} {
		assert.NoError(t, Mount{Source: source, Target: "/x"}.Validate(), "%q", source)
	}
}

// What the host runs may be shown, and not changed.
func TestMountValidateWritablePrograms(t *testing.T) {
	for _, source := range []string{"/usr", "/usr/bin", "/usr/lib/x", "/bin", "/lib64", "/sbin/x"} {
		assert.NoError(t, Mount{Source: source, Target: "/x"}.Validate(), source)
		assert.ErrorIs(t, Mount{Source: source, Target: "/x", Writable: true}.Validate(), ErrInvalid, source)
	}
	for _, source := range []string{"/usr/src/app", "/usr/local/data", "/binary"} {
		assert.NoError(t, Mount{Source: source, Target: "/x", Writable: true}.Validate(), source)
	}
}

func TestMountValidateTarget(t *testing.T) {
	for _, target := range []string{
		"", "/", "x", "./x", "/x/", "/x//y", "/x/../y", "/x\x00y", "/usr", "/usr/x", "/bin", "/bin/sh", "/sbin", "/lib", "/lib64/x", "/lib32", "/libx32",
		"/etc", "/etc/passwd", "/proc", "/proc/self", "/sys", "/sys/x", "/dev", "/dev/shm", "/dev/shm/x", "/dev/null", "/run", "/tmp", HomeDir,
		"/x/" + strings.Repeat("n", 256), strings.Repeat("/nnnnnnn", 512),
	} {
		err := Mount{Source: "/data", Target: target}.Validate()
		assert.ErrorIs(t, err, ErrInvalid, "%q", target)
	}
	for _, target := range []string{
		"/tmp/x", HomeDir + "/.cache/pip", "/workspace", "/tool", "/home/u", "/opt/x", "/srv", "/root/.pyenv/versions/3", "/run/x", "/library", "/binary", "/usr2", "/é\xff",
	} {
		assert.NoError(t, Mount{Source: "/data", Target: target}.Validate(), "%q", target)
	}
}

func TestAllMounts(t *testing.T) {
	p := ContainerProfile{
		Mounts: []string{"/data:/z:ro", "/data:/m"},
		Binds:  []Mount{{Source: "/data", Target: "/a b"}, {Source: "/data", Target: "/z-y"}},
	}
	all, err := p.AllMounts()
	require.NoError(t, err)
	var targets []string
	for _, m := range all {
		targets = append(targets, m.Target)
	}
	assert.Equal(t, []string{"/a b", "/m", "/z", "/z-y"}, targets)
	for _, bad := range []ContainerProfile{
		{Mounts: []string{"/data:/a", "/data/x:/a"}},
		{Mounts: []string{"/data:/a"}, Binds: []Mount{{Source: "/b", Target: "/a/b/c"}}},
		// "/a-b" sorts between the two.
		{Mounts: []string{"/data:/a", "/data:/a-b", "/data:/a/c"}},
		{Binds: []Mount{{}}},
		{Mounts: []string{"nonsense"}},
	} {
		_, err := bad.AllMounts()
		assert.ErrorIs(t, err, ErrInvalid)
		assert.ErrorIs(t, bad.Validate(), ErrInvalid)
	}
}

func FuzzParseMount(f *testing.F) {
	for _, s := range []string{"/a:/b", "/a:/b:ro", "/a:/b:ro,noexec,rbind", "a:b:c:d", "/a\x00:/b", "/:/", "/a/../b:/c", "/proc/1/root:/x", "C:\\x:/y", "/a\n:/b\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMount(s)
		if err != nil {
			assert.ErrorIs(t, err, ErrInvalid)
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.NoError(t, m.Validate())
		for _, p := range []string{m.Source, m.Target} {
			assert.True(t, strings.HasPrefix(p, "/"), "%q", p)
			assert.NotContains(t, p, ":")
			assert.NotContains(t, p+"/", "/../")
			assert.False(t, p == "/" || p == "/etc" || isBelow(p, "/proc"), "%q", p)
		}
		if !strings.ContainsAny(m.String(), `"`) {
			again, err := ParseMount(m.String())
			require.NoError(t, err)
			assert.Equal(t, m, again)
		}
	})
}
