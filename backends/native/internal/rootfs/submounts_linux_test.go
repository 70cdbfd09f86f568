package rootfs

import (
	"bytes"
	"debug/elf"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func loaderOf(t *testing.T, file string) string {
	t.Helper()
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(p.Open())
			require.NoError(t, err)
			return strings.TrimRight(string(b), "\x00")
		}
	}
	require.Fail(t, "no loader", file)
	return ""
}

func indexOf(data []byte, s string) int { return bytes.Index(data, []byte(s)) }

const mountinfo = `21 26 0:20 / /proc rw,relatime - proc proc rw
26 1 254:0 / / rw,relatime shared:1 master:2 propagate_from:3 - ext4 /dev/vda rw,discard
40 26 0:40 / /srv/a\040b\134c\011d rw - tmpfs - rw
41 26 0:41 / /srv/ab rw,nosuid shared:9 - fuse.sshfs me@host:/ rw
42 40 0:42 /sub /srv/a\040b\134c\011d/in\012ner ro - proc proc rw
43 26 0:43 / /srv/ab rw - ext4 none rw
`

func TestParseMountinfo(t *testing.T) {
	all, err := parseMountinfo(strings.NewReader(mountinfo))
	require.NoError(t, err)
	assert.Equal(t, Mounts{
		{"/proc", "proc"}, {"/", "ext4"}, {"/srv/a b\\c\td", "tmpfs"}, {"/srv/ab", "fuse.sshfs"},
		{"/srv/a b\\c\td/in\nner", "proc"}, {"/srv/ab", "ext4"},
	}, all)
	assert.Equal(t, []Mount{{"/srv/a b\\c\td/in\nner", "proc"}}, all.Below("/srv/a b\\c\td"))
	assert.Empty(t, all.Below("/srv/a"))
	assert.Len(t, all.Below("/"), 5)
}

func TestParseMountinfoRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, line := range []string{
		"x", "1 2 3:4 / /a rw", "1 2 3:4 / /a rw -", "1 2 3:4 / /a\\04 rw - t s o", "1 2 3:4 / /a\\098 rw - t s o",
		"1 2 3:4 / /a\\777 rw - t s o", "1 2 3:4 / a rw - t s o", "1 2 3:4 / /a rw -  s o",
	} {
		_, err := parseMountinfo(strings.NewReader(mountinfo + line + "\n"))
		assert.Error(t, err, line)
	}
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add(mountinfo)
	f.Add("1 2 3:4 / /a\\040 rw - t s o")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseMountinfo(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range all {
			assert.True(t, strings.HasPrefix(m.Path, "/"))
			assert.NotEmpty(t, m.Type)
		}
		assert.LessOrEqual(t, len(all), strings.Count(text, "\n")+1)
	})
}

// FuzzUnescape checks that what the kernel's mangling makes of a name is read back.
func FuzzUnescape(f *testing.F) {
	f.Add("/a b\t\n\\#")
	f.Fuzz(func(t *testing.T, name string) {
		mangled := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`).Replace(name)
		back, ok := unescape(mangled)
		assert.True(t, ok)
		assert.Equal(t, name, back)
		unescape(name) // any other text may be refused, and nothing else
	})
}

func TestMountsOfThisMachine(t *testing.T) {
	all, err := ReadMounts()
	require.NoError(t, err)
	assert.Contains(t, all.Below("/"), Mount{"/proc", "proc"})
	assert.True(t, Forbidden("proc"))
	assert.False(t, Forbidden("ext4"))
	assert.False(t, Forbidden("tmpfs"))
	assert.Empty(t, all.Below("/proc/self/fd"))
}
