//go:build unix

package conformance

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// mounted returns the base profile with m added.
func (e *env) mounted(ms ...sandbox.Mount) sandbox.ContainerProfile {
	return e.with(func(p *sandbox.ContainerProfile) { p.Binds = append(p.Binds, ms...) })
}

// mounts: what is declared is there, as declared, under whatever name.
func (e *env) mounts(t *testing.T) {
	t.Run("read-only", e.mountReadOnly)
	t.Run("writable", e.mountWritable)
	t.Run("executable or not", e.mountExec)
	t.Run("file", e.mountFile)
	t.Run("below one another", e.mountNested)
	t.Run("names", e.mountNames)
	t.Run("strings", e.mountStrings)
	t.Run("many, deep, twice", e.mountMany)
	t.Run("only what is declared", e.onlyDeclared)
	t.Run("rename across directories", func(t *testing.T) {
		dir := e.workspace(t)
		e.ok(t, e.mounted(sandbox.Mount{Source: dir, Target: "/data", Writable: true}),
			sh("mkdir -p /data/a /data/b && echo x > /data/a/f && mv /data/a/f /data/b/f && ln /data/b/f /data/a/g"))
		assert.FileExists(t, filepath.Join(dir, "a/g"))
	})
	t.Run("scratch does not run", e.scratchExec)
}

func (e *env) mountReadOnly(t *testing.T) {
	dir := e.workspace(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("content"), 0o644))
	before := treeSum(t, dir)
	out := e.ok(t, e.mounted(sandbox.Mount{Source: dir, Target: "/data"}), sh(`cat /data/f
		for c in "echo x > /data/new" "echo x > /data/f" "rm /data/f" "mkdir /data/d" "chmod 600 /data/f" "touch /data/f" "mv /data/f /data/g"; do
			if (eval "$c") 2>/dev/null; then echo "worked: $c"; fi; done`))
	assert.Equal(t, "content", out)
	assert.Equal(t, before, treeSum(t, dir))
}

// mountWritable: a private directory of the caller's works as a workspace, and what is written belongs to the caller.
func (e *env) mountWritable(t *testing.T) {
	dir := e.workspace(t) // mode 0700
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o600))
	e.give(t, dir)
	uid, gid := e.owner()
	out := e.ok(t, e.mounted(sandbox.Mount{Source: dir, Target: "/data", Writable: true}),
		sh("cd /data && cat old && echo more >> old && mkdir d && echo hi > d/out.txt && cat d/out.txt"))
	assert.Equal(t, "oldhi\n", out)
	for _, name := range []string{"old", "d", "d/out.txt"} {
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat(filepath.Join(dir, name), &st))
		assert.EqualValues(t, uid, st.Uid, "%s", name)
		assert.EqualValues(t, gid, st.Gid, "%s", name)
	}
	b, err := os.ReadFile(filepath.Join(dir, "d/out.txt"))
	require.NoError(t, err)
	assert.Equal(t, "hi\n", string(b))
	if e.HostIDs {
		return
	}
	// Whoever the program is inside, the caller is who owns what it writes.
	p := e.mounted(sandbox.Mount{Source: dir, Target: "/data", Writable: true})
	p.User = "1234:4321"
	assert.Equal(t, "1234\n", e.ok(t, p, sh("cat /data/old > /data/copy && stat -c %u /data/copy")))
	var st syscall.Stat_t
	require.NoError(t, syscall.Stat(filepath.Join(dir, "copy"), &st))
	assert.EqualValues(t, os.Geteuid(), st.Uid)
}

// owners: a directory of another user's works too, and what is written there is that user's.
func (e *env) owners(t *testing.T) {
	if !e.ForeignOwners {
		return
	}
	dir := e.workspace(t)
	require.NoError(t, os.Chown(dir, 1000, 1001))
	e.ok(t, e.mounted(sandbox.Mount{Source: dir, Target: "/data", Writable: true}), sh("echo hi > /data/out.txt && mkdir /data/d"))
	for _, name := range []string{"out.txt", "d"} {
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat(filepath.Join(dir, name), &st))
		assert.EqualValues(t, 1000, st.Uid)
		assert.EqualValues(t, 1001, st.Gid)
	}
}

func (e *env) mountExec(t *testing.T) {
	dir := e.workspace(t)
	script := "#!/bin/sh\necho ran\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tool"), []byte(script), 0o755))
	run := sandbox.Command{Argv: []string{"/data/tool"}}
	for _, writable := range []bool{false, true} {
		m := sandbox.Mount{Source: dir, Target: "/data", Writable: writable, Exec: true}
		assert.Equal(t, "ran\n", e.ok(t, e.mounted(m), run))
		m.Exec = false
		e.refused(t, e.mounted(m), run, sandbox.ErrNotExecutable)
		assert.Equal(t, 126, e.run(t, e.mounted(m), sh("/data/tool")).ExitCode)
		assert.Equal(t, "ran\n", e.ok(t, e.mounted(m), sh("sh /data/tool")), "an interpreter may read it")
	}
}

func (e *env) mountFile(t *testing.T) {
	dir := e.workspace(t)
	file := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(file, []byte("content"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "neighbour"), []byte("secret"), 0o644))
	e.give(t, dir)
	assert.Equal(t, "contentf\n", e.ok(t, e.mounted(sandbox.Mount{Source: file, Target: "/data/f"}), sh("cat /data/f; ls /data")))
	e.ok(t, e.mounted(sandbox.Mount{Source: file, Target: "/input", Writable: true}), sh("echo new > /input"))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "new\n", string(b))
}

// mountNested: a target inside another mount would need a mount point in a directory of the host, so it is refused.
func (e *env) mountNested(t *testing.T) {
	outer, inner := e.newWitness(t), e.workspace(t)
	p := e.mounted(outer.mount, sandbox.Mount{Source: inner, Target: outer.mount.Target + "/sub"})
	e.refused(t, p, outer.mark(), sandbox.ErrInvalid)
	outer.untouched(t)
}

// mountNames: every byte that a Linux path may hold.
func (e *env) mountNames(t *testing.T) {
	for _, name := range []string{
		"a b", "colon:in:it", "comma,readonly", `quotes"'`, "back\\slash", "new\nline", "tab\t", "\xff\xfe", "-dash", "$(id)",
		"héllo", "x:ro", strings.Repeat("long", 50),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(e.workspace(t), name)
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("content"), 0o644))
			e.give(t, dir)
			m := sandbox.Mount{Source: dir, Target: "/data/" + name, Writable: true}
			c := sandbox.Command{Argv: []string{"cat", m.Target + "/" + name}, Dir: m.Target}
			if e.TextPaths && !utf8.ValidString(name) {
				e.refused(t, e.mounted(m), c, sandbox.ErrInvalid, sandbox.ErrRefused)
				return
			}
			assert.Equal(t, "content", e.ok(t, e.mounted(m), c))
		})
	}
}

// mountMany: forty mounts, a target thirty directories down, and one source at two targets.
func (e *env) mountMany(t *testing.T) {
	dir := e.workspace(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644))
	var ms []sandbox.Mount
	for i := range 40 {
		ms = append(ms, sandbox.Mount{Source: dir, Target: "/many/" + strconv.Itoa(i), Writable: i%2 == 0})
	}
	deep := "/deep" + strings.Repeat("/d", 30)
	ms = append(ms, sandbox.Mount{Source: dir, Target: deep})
	out := e.ok(t, e.mounted(ms...), sh("ls /many | wc -l; cat /many/*/f "+deep+"/f | wc -c; echo y > /many/0/g; (echo y > /many/1/h) 2>/dev/null || echo denied"))
	assert.Equal(t, []string{"40", "41", "denied"}, strings.Fields(out))
}

// mountStrings: the profile's Mounts are container-style -v strings.
func (e *env) mountStrings(t *testing.T) {
	dir := e.workspace(t)
	for options, writable := range map[string]bool{":ro": false, ":rw": true} {
		p := e.with(func(p *sandbox.ContainerProfile) { p.Mounts = []string{dir + ":/data" + options} })
		res := e.run(t, p, sh("echo x > /data/f"))
		assert.Equal(t, writable, res.ExitCode == 0, "%s: %s", options, res.Stderr)
	}
}

// onlyDeclared: no file of the host's but the image, and nothing writable but what is named.
func (e *env) onlyDeclared(t *testing.T) {
	host := e.workspace(t)
	require.NoError(t, os.Chmod(host, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(host, "f"), []byte(secret), 0o644))
	res := e.run(t, e.profile(), sandbox.Command{Argv: []string{"cat", filepath.Join(host, "f")}})
	assert.NotZero(t, res.ExitCode)
	assert.NotContains(t, string(res.Stdout), secret)
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	denied := []string{"/etc/shadow", home + "/.ssh", home + "/.bash_history", "/var/run/docker.sock", "/boot", "/var/log"}
	for path, seen := range see[map[string]string](t, e, e.profile(), "files", denied...) {
		assert.NotEqual(t, "content", seen, "%s", path)
	}
	out := e.ok(t, e.profile(), sh(`for d in / /etc /usr /usr/bin /usr/lib /bin /dev /proc /proc/sys /sys /var /var/tmp /run /root /home /opt /mnt /srv; do
		case $(readlink -f $d) in /tmp*|/dev/shm*) continue;; esac # a link to the scratch
		if (echo x > $d/.probe) 2>/dev/null; then echo $d; fi; done`))
	assert.Empty(t, out)
}

// scratchExec: a program dropped on the scratch does not run, unless the operator says so.
func (e *env) scratchExec(t *testing.T) {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		drop := sh("cp \"$1\" "+dir+"/dropped && chmod 755 "+dir+"/dropped && "+dir+"/dropped exit 42", e.probe("exit")[0])
		assert.Equal(t, 126, e.run(t, e.profile(), drop).ExitCode, "%s", dir)
	}
	p := e.with(func(p *sandbox.ContainerProfile) { p.ScratchExec = true })
	drop := sh("cp \"$1\" /tmp/dropped && chmod 755 /tmp/dropped && /tmp/dropped exit 42", e.probe("exit")[0])
	assert.Equal(t, 42, e.run(t, p, drop).ExitCode)
	report, err := e.b.Ready(t.Context(), p)
	require.NoError(t, err)
	assert.False(t, report.Enforced(sandbox.FSNoexecScratch), "what was given up is not reported as kept")
}
