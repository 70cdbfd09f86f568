//go:build unix

package conformance

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// witness is a writable mount of the host in which a program that should not have run would have left a mark.
type witness struct {
	dir   string
	mount sandbox.Mount
}

func (e *env) newWitness(t *testing.T) witness {
	dir := e.workspace(t)
	return witness{dir: dir, mount: sandbox.Mount{Source: dir, Target: "/witness", Writable: true}}
}

// mark is a command that leaves the mark.
func (w witness) mark() sandbox.Command { return sh("echo ran > /witness/ran") }

// untouched asserts that nothing ran.
func (w witness) untouched(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(w.dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "the program ran")
}

// refusals: what the backend finds out for itself is refused as a typed error, and the program did not run.
func (e *env) refusals(t *testing.T) {
	t.Run("the witness works", func(t *testing.T) {
		w := e.newWitness(t)
		e.ok(t, e.mounted(w.mount), w.mark())
		assert.FileExists(t, filepath.Join(w.dir, "ran"))
	})
	for name, change := range (profileCase{
		"image":             func(p *sandbox.ContainerProfile) { p.Image = "no-such-image:never" },
		"image, as a path":  func(p *sandbox.ContainerProfile) { p.Image = "/" },
		"image, as a flag":  func(p *sandbox.ContainerProfile) { p.Image = "--privileged" },
		"network":           func(p *sandbox.ContainerProfile) { p.Network = "no-such-network" },
		"host network":      func(p *sandbox.ContainerProfile) { p.Network = "host" },
		"runtime":           func(p *sandbox.ContainerProfile) { p.Runtime = "no-such-runtime" },
		"workdir missing":   func(p *sandbox.ContainerProfile) { p.Workdir = "/no/such/directory" },
		"workdir is a file": func(p *sandbox.ContainerProfile) { p.Workdir = "/etc/passwd" },
		"interpreter":       func(p *sandbox.ContainerProfile) { p.Interpreters = []string{"/no/such/python"} },
	}) {
		t.Run(name, func(t *testing.T) {
			w := e.newWitness(t)
			p := e.mounted(w.mount)
			change(&p)
			e.refused(t, p, w.mark())
			w.untouched(t)
		})
	}
	t.Run("directory of the call missing", func(t *testing.T) {
		w := e.newWitness(t)
		c := w.mark()
		c.Dir = "/no/such/directory"
		e.refused(t, e.mounted(w.mount), c)
		w.untouched(t)
	})
	t.Run("program", e.badPrograms)
	t.Run("program, by other names", e.goodPrograms)
}

// badPrograms: a program that is not there, or is none.
func (e *env) badPrograms(t *testing.T) {
	dir := e.workspace(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("text"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "garbage"), []byte("\x01\x02\x03"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "no-interpreter"), []byte("#!/no/such/interpreter\n"), 0o755))
	p := e.mounted(sandbox.Mount{Source: dir, Target: "/data", Exec: true})
	for program, kind := range map[string]error{
		"/no/such/program": sandbox.ErrNotFound, "no-such-program": sandbox.ErrNotFound,
		"/data/no-interpreter": sandbox.ErrNotFound,
		"/tmp":                 sandbox.ErrNotExecutable, "/data/plain": sandbox.ErrNotExecutable, "/data/garbage": sandbox.ErrNotExecutable,
	} {
		t.Run(program, func(t *testing.T) {
			err := e.refused(t, p, sandbox.Command{Argv: []string{program}}, kind)
			assert.ErrorIs(t, err, sandbox.ErrInvalid)
			assert.Contains(t, err.Error(), program)
		})
	}
}

// goodPrograms: a program is found relative to the directory, and in the PATH that the call names.
func (e *env) goodPrograms(t *testing.T) {
	dir := e.workspace(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "tool"), []byte("#!/usr/bin/env sh\necho \"ran $0 $1\"\n"), 0o755))
	p := e.mounted(sandbox.Mount{Source: dir, Target: "/data", Exec: true})
	for want, c := range map[string]sandbox.Command{
		"ran /data/bin/tool a\n": {Argv: []string{"/data/bin/tool", "a"}},
		"ran ./bin/tool b\n":     {Argv: []string{"./bin/tool", "b"}, Dir: "/data"},
		"ran bin/tool c\n":       {Argv: []string{"bin/tool", "c"}, Dir: "/data"},
	} {
		assert.Equal(t, want, e.ok(t, p, c))
	}
	c := sandbox.Command{Argv: []string{"tool", "d"}, Env: []string{"PATH=/nowhere:/data/bin:/usr/bin:/bin"}}
	assert.Equal(t, "ran /data/bin/tool d\n", e.ok(t, p, c))
	e.refused(t, p, sandbox.Command{Argv: []string{"tool"}, Dir: "/data/bin"}, sandbox.ErrNotFound) // the directory is in no PATH
}

// mountRefusals: a mount that cannot be meant, or would give away what no call may have, is refused, and neither the
// source nor anything around it is touched.
func (e *env) mountRefusals(t *testing.T) {
	dir := e.workspace(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "ok"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644))
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	ok := filepath.Join(dir, "ok")
	cases := map[string]sandbox.Mount{
		"source missing":    {Source: filepath.Join(dir, "missing"), Target: "/data"},
		"source relative":   {Source: "ok", Target: "/data"},
		"source empty":      {Target: "/data"},
		"source not clean":  {Source: dir + "/x/../ok", Target: "/data"},
		"source NUL":        {Source: ok + "\x00", Target: "/data"},
		"source socket":     {Source: filepath.Join(dir, "socket"), Target: "/data"},
		"target empty":      {Source: ok},
		"target relative":   {Source: ok, Target: "data"},
		"target not clean":  {Source: ok, Target: "/data/../usr"},
		"target NUL":        {Source: ok, Target: "/data\x00"},
		"target below file": {Source: ok, Target: "/witness-file/x"},
	}
	for _, source := range []string{"/", "/proc", "/proc/self", "/proc/1/root", "/sys", "/sys/fs/cgroup", "/dev", "/etc", "/root/..", home} {
		cases["source "+source] = sandbox.Mount{Source: source, Target: "/data"}
	}
	for _, target := range []string{"/", "/proc", "/proc/self", "/sys", "/dev", "/dev/shm/x", "/etc", "/etc/passwd", "/usr", "/usr/bin", "/bin", "/lib64"} {
		cases["target "+target] = sandbox.Mount{Source: ok, Target: target}
	}
	file := sandbox.Mount{Source: filepath.Join(dir, "file"), Target: "/witness-file"}
	before := treeSum(t, dir)
	for name, m := range cases {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			w := e.newWitness(t)
			e.refused(t, e.mounted(w.mount, file, m), w.mark(), sandbox.ErrInvalid, sandbox.ErrRefused)
			w.untouched(t)
		})
	}
	assert.Equal(t, before, treeSum(t, dir))
	t.Run("two at one target", func(t *testing.T) {
		m := sandbox.Mount{Source: ok, Target: "/data"}
		e.refused(t, e.mounted(m, m), sandbox.Command{Argv: []string{"true"}}, sandbox.ErrInvalid)
	})
	t.Run("strings", e.badStrings)
	t.Run("target through a link", e.linkedTargets)
}

func (e *env) badStrings(t *testing.T) {
	dir := e.workspace(t)
	for _, s := range []string{
		"", ":", "data:/data", dir, dir + ":", dir + ":data", dir + ":/data:bogus", dir + ":/data:ro:rw", ":/data", dir + ":/a:/b",
		"/no/such/place:/data", dir + ":/data:",
	} {
		w := e.newWitness(t)
		p := e.mounted(w.mount)
		p.Mounts = []string{s}
		e.refused(t, p, w.mark(), sandbox.ErrInvalid, sandbox.ErrRefused)
		w.untouched(t)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// linkedTargets: a link inside one mount leads no other mount's target out of the sandbox.
func (e *env) linkedTargets(t *testing.T) {
	outside, ws, inner := e.workspace(t), e.workspace(t), e.workspace(t)
	for link, to := range map[string]string{"abs": outside, "up": "../../../../../../.." + outside, "proc": "/proc/1/root" + outside} {
		require.NoError(t, os.Symlink(to, filepath.Join(ws, link)))
	}
	before := treeSum(t, ws)
	for _, writable := range []bool{false, true} {
		for _, target := range []string{"/data/abs/new", "/data/up/new", "/data/proc/new", "/data/abs", "/data/missing"} {
			w := e.newWitness(t)
			p := e.mounted(w.mount,
				sandbox.Mount{Source: ws, Target: "/data", Writable: writable}, sandbox.Mount{Source: inner, Target: target})
			e.refused(t, p, w.mark())
			w.untouched(t)
		}
	}
	for _, dir := range []string{outside, inner} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, entries, "something was made on the host")
	}
	assert.Equal(t, before, treeSum(t, ws))
}
