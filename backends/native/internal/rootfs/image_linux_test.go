package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// checkImage checks what every image promises its reader.
func checkImage(t *testing.T, img Image) {
	t.Helper()
	seen := map[string]bool{}
	once := func(p string) {
		assert.False(t, seen[p], "%s is there twice", p)
		seen[p] = true
		assert.Equal(t, filepath.Clean(p), p)
		for _, b := range img.Binds {
			assert.False(t, isBelow(p, b.Target), "%s lies in the bind at %s", p, b.Target)
		}
		for _, dir := range parents(p) {
			assert.Contains(t, img.Dirs, dir, "the directory of %s", p)
		}
	}
	for _, b := range img.Binds {
		once(b.Target)
		real, err := filepath.EvalSymlinks(b.Source)
		require.NoError(t, err)
		assert.Equal(t, b.Source, real)
		info, err := os.Lstat(b.Source)
		require.NoError(t, err)
		assert.Equal(t, b.File, info.Mode().IsRegular())
		assert.Equal(t, !b.File, info.IsDir())
	}
	for _, l := range img.Links {
		once(l.Path)
		assert.NotEmpty(t, l.Target)
	}
	total := 0
	for _, f := range img.Files {
		once(f.Path)
		assert.Zero(t, f.Mode&0o222, f.Path)
		total += len(f.Data)
	}
	assert.LessOrEqual(t, total, maxData)
	for i, d := range img.Dirs {
		assert.True(t, i == 0 || img.Dirs[i-1] < d, "%s is not sorted", d)
	}
	for _, p := range syntheticPaths {
		assert.False(t, seen[p], p)
	}
	for _, p := range []string{"/dev", "/proc", "/sys", "/tmp"} {
		assert.False(t, seen[p], p)
		assert.NotContains(t, img.Dirs, p)
	}
}

func TestHostOfThisMachine(t *testing.T) {
	img, err := Host()
	require.NoError(t, err)
	checkImage(t, img)
	t.Logf("%d binds, %d links, %d files, PATH %s", len(img.Binds), len(img.Links), len(img.Files), img.Path)
	assert.Equal(t, "host", img.Name)
	assert.Empty(t, img.Env)
	assert.True(t, img.Resolves("/usr/bin/env"))
	assert.True(t, img.Resolves("/bin"))
	assert.Contains(t, strings.Split(img.Path, ":"), "/usr/bin")
	assert.LessOrEqual(t, len(img.Binds), 24)
	for _, p := range []string{"/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/etc/ssl/private", "/etc/ssh", "/etc/ld.so.preload", "/home", "/root", "/var/lib", "/opt"} {
		assert.False(t, img.Resolves(p), p)
		_, shown := img.Shows(p)
		assert.False(t, shown, p)
	}
	b, shown := img.Shows("/usr/share/doc")
	assert.True(t, shown)
	assert.Equal(t, "/usr", b.Target)
}

// hostTree is a machine whose /bin, /sbin and /lib are directories of their own.
func hostTree(t *testing.T) string {
	root := makeTree(t, map[string]string{
		"usr/bin/env": "ELF", "usr/local/bin/": "", "usr/share/zoneinfo/Etc/UTC": "TZif", "usr/lib/os-release": "ID=x\n",
		"bin/sh": "ELF", "sbin/init": "ELF", "lib/libc.so": "x", "lib64": "-> lib", "opt/nix/lib32/x": "x", "lib32": "-> /opt/nix/lib32",
		"etc/ld.so.cache": "cache", "etc/ld.so.preload": "/evil.so\n", "etc/ld.so.conf.d/a.conf": "/a\n",
		"etc/localtime": "-> ../usr/share/zoneinfo/Etc/UTC", "etc/os-release": "-> /usr/lib/os-release",
		"etc/timezone": "-> /var/lib/timezone", "var/lib/timezone": "Etc/UTC\n", "etc/services": "-> /nowhere",
		"etc/alternatives/awk": "-> /usr/bin/mawk", "etc/alternatives/b": "-> /b", "etc/alternatives/c": "-> /c", "etc/alternatives/d": "-> /d",
		"etc/ssl/certs":                     "-> /var/lib/ca-certificates/pem",
		"var/lib/ca-certificates/pem/a.pem": "A", "var/lib/ca-certificates/pem/b.pem": "B", "var/lib/ca-certificates/pem/c.pem": "C", "var/lib/ca-certificates/pem/d.pem": "D",
		"etc/ssl/private/key.pem": "KEY", "etc/ssl/openssl.cnf": "cnf",
		"etc/pki/tls/certs/a.crt": "A", "etc/pki/tls/certs/b.crt": "B", "etc/pki/tls/certs/c.crt": "C", "etc/pki/tls/certs/server.key": "KEY", "etc/pki/tls/certs/sub/x": "X",
		"etc/python3.11/sitecustomize.py": "pass\n",
		"etc/java-17/conf":                "-> /etc/shadow",
		"etc/fonts/":                      "",
		"etc/mime.types":                  strings.Repeat("x", maxData+1),
		"etc/shadow":                      "root:secret\n", "etc/pip.conf": "token", "etc/npmrc": "token",
		"etc/gnutls": "-> /var/private/gnutls", "var/private/gnutls/a": "SECRET", "etc/julia/a": "-> /var/private/gnutls/a",
		"etc/libreoffice/a": "A", "etc/libreoffice/b": "B", "etc/libreoffice/c": "C", "etc/libreoffice/keys/k": "SECRET",
		"etc/R/a": "A", "etc/R/b": "B", "etc/R/c": "C",
		"root/secret": "x", "home/u/secret": "x",
	})
	for _, p := range []string{"etc/shadow", "etc/pki/tls/certs/server.key", "etc/protocols"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, p), []byte("SECRET"), 0o640))
		require.NoError(t, os.Chmod(filepath.Join(root, p), 0o640))
	}
	// Public files behind a directory that is not.
	for p, mode := range map[string]os.FileMode{"var/private": 0o700, "etc/libreoffice/keys": 0o750} {
		require.NoError(t, os.Chmod(filepath.Join(root, p), mode))
	}
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "etc/R/fifo"), 0o666))
	// The tree lies in a temporary directory that only its owner may enter; everything in it counts by its own bits.
	return root
}

func TestHostOfAnotherMachine(t *testing.T) {
	root := hostTree(t)
	img, err := host(root)
	require.NoError(t, err)
	checkImage(t, img)

	binds := map[string]string{}
	for _, b := range img.Binds {
		rel, err := filepath.Rel(root, b.Source)
		require.NoError(t, err)
		binds[b.Target] = rel
		assert.Equal(t, !isBelow(b.Target, "/etc"), b.Exec, b.Target)
	}
	assert.Equal(t, map[string]string{
		"/usr": "usr", "/bin": "bin", "/sbin": "sbin", "/lib": "lib", "/lib32": "opt/nix/lib32",
		"/etc/alternatives": "etc/alternatives", "/etc/ssl/certs": "var/lib/ca-certificates/pem", "/etc/mime.types": "etc/mime.types",
	}, binds)
	links := map[string]string{}
	for _, l := range img.Links {
		links[l.Path] = l.Target
	}
	assert.Equal(t, map[string]string{
		"/lib64": "lib", "/etc/localtime": "../usr/share/zoneinfo/Etc/UTC", "/etc/os-release": "/usr/lib/os-release",
		"/etc/mtab": "../proc/self/mounts", "/var/tmp": "../tmp", "/etc/java-17/conf": "/etc/shadow", "/etc/julia/a": "/var/private/gnutls/a",
	}, links)
	files := map[string]string{}
	for _, f := range img.Files {
		files[f.Path] = string(f.Data)
	}
	assert.Equal(t, map[string]string{
		"/etc/ld.so.cache": "cache", "/etc/ld.so.conf.d/a.conf": "/a\n", "/etc/timezone": "Etc/UTC\n", "/etc/ssl/openssl.cnf": "cnf",
		"/etc/pki/tls/certs/a.crt": "A", "/etc/pki/tls/certs/b.crt": "B", "/etc/pki/tls/certs/c.crt": "C", "/etc/pki/tls/certs/sub/x": "X",
		"/etc/python3.11/sitecustomize.py": "pass\n",
		"/etc/libreoffice/a":               "A", "/etc/libreoffice/b": "B", "/etc/libreoffice/c": "C", "/etc/R/a": "A", "/etc/R/b": "B", "/etc/R/c": "C",
	}, files)
	assert.Equal(t, "/usr/local/bin:/usr/bin:/sbin:/bin", img.Path)
}

func TestHostRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"etc is a link":       {"usr/bin/x": "ELF", "etc": "-> /usr"},
		"usr is a file":       {"usr": "x"},
		"usr leads nowhere":   {"usr": "-> /gone"},
		"usr leads in a ring": {"usr": "-> /usr"},
	} {
		_, err := host(makeTree(t, files))
		if name == "etc is a link" {
			require.NoError(t, err, name) // Nothing of it is taken over.
			continue
		}
		assert.Error(t, err, name)
	}
	_, err := host(filepath.Join(t.TempDir(), "missing"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestDirectory(t *testing.T) {
	root := makeTree(t, map[string]string{
		"usr/bin/env": "ELF", "bin": "-> usr/bin", "lib/x": "x", "opt/": "", "bin2/tool": "ELF", "app": "ELF-not", "README": "text",
		"dev/null": "not a device", "proc/1": "x", "sys/x": "x", "tmp/x": "x", "run/x": "x",
		"etc/passwd": "root:x:0:0::/:/bin/sh\n", "etc/hosts": "1.2.3.4 evil\n", "etc/resolv.conf": "-> ../run/x", "etc/mtab": "-> /proc/mounts",
		"etc/ssl/certs/a.pem": "A", "etc/ld.so.cache": "cache", "etc/localtime": "-> /usr/share/zoneinfo/UTC", "etc/empty/": "",
		"etc/nsswitch.conf": "hosts: dns\n", "etc/shadow": "root:hash",
	})
	require.NoError(t, os.Chmod(filepath.Join(root, "app"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(root, "etc/shadow"), 0o640))
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "etc/fifo"), 0o644))
	img, err := Directory("py", root)
	require.NoError(t, err)
	checkImage(t, img)
	assert.Equal(t, "py", img.Name)
	targets := map[string]bool{}
	for _, b := range img.Binds {
		targets[b.Target] = b.Exec
		assert.Equal(t, filepath.Join(root, b.Target), b.Source)
		assert.False(t, b.Recursive)
	}
	assert.Equal(t, map[string]bool{"/usr": true, "/lib": true, "/bin2": true, "/app": true, "/etc/ssl": true, "/etc/shadow": false}, targets)
	assert.Equal(t, []Link{{"/bin", "usr/bin"}, {"/etc/localtime", "/usr/share/zoneinfo/UTC"}, {"/etc/mtab", "../proc/self/mounts"}}, img.Links)
	assert.Equal(t, []File{{"/README", 0o444, []byte("text")}, {"/etc/ld.so.cache", 0o444, []byte("cache")}}, img.Files)
	assert.Equal(t, "/usr/bin", img.Path)
	assert.Contains(t, img.Dirs, "/opt")
	assert.Contains(t, img.Dirs, "/etc/empty")
	assert.Contains(t, img.Dirs, "/run")
}

// Hostile images: the names that the sandbox makes itself lead elsewhere (CVE-2025-31133, CVE-2026-41579).
func TestDirectoryHostile(t *testing.T) {
	outside := makeTree(t, map[string]string{"secret": "SECRET", "dir/secret": "SECRET"})
	root := makeTree(t, map[string]string{
		"dev": "-> /", "proc": "-> /tmp/x", "sys": "-> ..", "tmp": "-> " + outside, "run": "-> /run",
		"usr/bin/env": "ELF", "home": "-> " + outside, "up": "-> ../../../../../..", "etc/conf": "-> " + outside + "/secret",
		"etc/conf.d": "-> " + outside + "/dir", "etc/up": "-> ../../../../../../etc/shadow",
	})
	require.NoError(t, os.Mkdir(filepath.Join(root, "usr/local"), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "usr/local/bin")))
	img, err := Directory("hostile", root)
	require.NoError(t, err)
	checkImage(t, img)
	for _, b := range img.Binds {
		assert.True(t, isBelow(b.Source, root), b.Source)
	}
	assert.Empty(t, img.Files, "nothing behind a link is copied")
	assert.Equal(t, "/usr/bin", img.Path, "the link out of the tree leads nowhere in it")

	for name, files := range map[string]map[string]string{
		"etc is a link": {"usr/x": "x", "etc": "-> " + outside},
		"etc is a file": {"usr/x": "x", "etc": "x"},
		"nothing in it": {"etc/": "", "dev/": ""},
	} {
		_, err := Directory("bad", makeTree(t, files))
		assert.ErrorIs(t, err, sandbox.ErrInvalid, name)
	}
	many := map[string]string{"usr/x": "x"}
	for i := range maxParts {
		many["etc/link"+strings.Repeat("x", i%100)+string(rune('a'+i/100))] = "-> x"
	}
	_, err = Directory("many", makeTree(t, many))
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
}

func TestDirectoryPlaces(t *testing.T) {
	root := makeTree(t, map[string]string{"usr/x": "x", "file": "x"})
	for _, dir := range []string{"/", "/etc", "/proc", "relative", root + "/missing", root + "/../", "/root", "/home", root + "/file"} {
		_, err := Directory("x", dir)
		assert.ErrorIs(t, err, sandbox.ErrInvalid, dir)
	}
	_, err := Directory("x", root, filepath.Join(root, "usr"))
	assert.ErrorIs(t, err, sandbox.ErrRefused)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(root, link))
	img, err := Directory("x", link)
	require.NoError(t, err)
	assert.Equal(t, root+"/usr", img.Binds[0].Source)
}

func TestBindWithSubmounts(t *testing.T) {
	root := makeTree(t, map[string]string{"usr/x": "x"})
	tr, err := openTree(root)
	require.NoError(t, err)
	defer tr.Close()
	b, err := newBuilder(tr, "x")
	require.NoError(t, err)
	info, err := b.lstat("/usr")
	require.NoError(t, err)

	b.mounts = Mounts{{root + "/usr", "tmpfs"}, {root + "/usr2/x", "tmpfs"}}
	require.NoError(t, b.bind("/usr", "/usr", info, true))
	assert.False(t, b.img.Binds[0].Recursive, "only what lies below counts")

	b.mounts = append(b.mounts, Mount{root + "/usr/share", "ext4"})
	assert.ErrorContains(t, b.bind("/usr", "/usr", info, true), root+"/usr/share")
	b.host = true
	require.NoError(t, b.bind("/usr", "/usr", info, true))
	assert.True(t, b.img.Binds[1].Recursive)

	b.mounts = append(b.mounts, Mount{root + "/usr/share/p", "proc"})
	assert.ErrorContains(t, b.bind("/usr", "/usr", info, true), "proc")
	assert.Len(t, b.img.Binds, 2)
}

// A file that is replaced by something else between its look-up and its reading is not read.
func TestReadFile(t *testing.T) {
	root := makeTree(t, map[string]string{"file": "12345", "link": "-> file", "dir/x": "x", "dlink": "-> dir"})
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o666))
	tr, err := openTree(root)
	require.NoError(t, err)
	defer tr.Close()
	data, _, tooLarge, err := tr.readFile("/file", 5)
	require.NoError(t, err)
	assert.False(t, tooLarge)
	assert.Equal(t, "12345", string(data))
	_, _, tooLarge, err = tr.readFile("/file", 4)
	require.NoError(t, err)
	assert.True(t, tooLarge)
	for _, p := range []string{"/link", "/dlink/x", "/fifo", "/dir", "/missing", "/../etc/passwd"} {
		_, _, _, err := tr.readFile(p, 100)
		assert.Error(t, err, p)
	}
}

func BenchmarkHost(b *testing.B) {
	for b.Loop() {
		if _, err := Host(); err != nil {
			b.Fatal(err)
		}
	}
}
