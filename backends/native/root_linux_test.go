package native_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// open opens a backend for the test.
func open(t *testing.T, c native.Config) sandbox.Backend {
	t.Helper()
	b, err := native.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// run runs a shell script with mounts and requires that it was run.
func run(t *testing.T, b sandbox.Backend, script string, mounts ...sandbox.Mount) sandbox.Result {
	t.Helper()
	r, err := b.Run(t.Context(), sandbox.ContainerProfile{Binds: mounts}, sandbox.Command{Argv: []string{"sh", "-c", script}})
	require.NoError(t, err)
	return r
}

// refuses requires a typed error and returns it.
func refuses(t *testing.T, b sandbox.Backend, m sandbox.Mount) *sandbox.Error {
	t.Helper()
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{Binds: []sandbox.Mount{m}}, sandbox.Command{Argv: []string{"true"}})
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	t.Logf("%s: %v", typed.Kind, typed)
	return typed
}

// TestHostIDsDiffer: two sandboxes of root's at a time have two host ids, the spawner a third, and none is root's.
func TestHostIDsDiffer(t *testing.T) {
	requireRoot(t)
	b := open(t, native.Config{})
	type running struct {
		in   *io.PipeWriter
		done chan sandbox.Result
		uid  string
	}
	var all []running
	for _, marker := range []string{"toolcell-marker-one", "toolcell-marker-two"} {
		in, feed := io.Pipe()
		r := running{in: feed, done: make(chan sandbox.Result, 1)}
		started := make(chan struct{})
		go func() {
			out, err := b.Run(context.WithoutCancel(t.Context()), sandbox.ContainerProfile{}, sandbox.Command{
				Argv: []string{"sh", "-c", "echo up; read line; echo $line", marker}, Stdin: in, Stdout: &closeOnWrite{ch: started},
			})
			assert.NoError(t, err)
			r.done <- out
		}()
		select {
		case <-started:
		case out := <-r.done:
			require.Fail(t, "the call ended first", "%+v", out)
		}
		pids := named("sh\x00-c\x00echo up; read line; echo $line\x00" + marker)
		require.Len(t, pids, 1)
		uid, gid := statusFields(t, pids[0], "Uid:"), statusFields(t, pids[0], "Gid:")
		assert.Equal(t, uid, gid)
		for _, u := range uid {
			assert.Equal(t, uid[0], u, "real, effective, saved and file system id")
		}
		r.uid = uid[0]
		all = append(all, r)
	}
	assert.NotEqual(t, all[0].uid, all[1].uid, "two sandboxes share a host id")
	spawners := named("toolcell-init\x00")
	mine := 0
	for _, pid := range spawners {
		if ppid := statusFields(t, pid, "PPid:"); len(ppid) != 1 || number(ppid[0]) != os.Getpid() {
			continue
		}
		mine++
		for _, u := range statusFields(t, pid, "Uid:") {
			assert.NotContains(t, []string{"0", all[0].uid, all[1].uid}, u, "the spawner's own id")
		}
	}
	assert.NotZero(t, mine, "the spawner seen from outside")
	for _, r := range all {
		assert.GreaterOrEqual(t, number(r.uid), 1879048192)
		_, err := r.in.Write([]byte("bye\n"))
		require.NoError(t, err)
		require.NoError(t, r.in.Close())
		assert.Equal(t, "up\nbye\n", string((<-r.done).Stdout))
	}
}

// closeOnWrite closes its channel with the first output.
type closeOnWrite struct {
	ch     chan struct{}
	closed bool
}

// Write implements io.Writer.
func (c *closeOnWrite) Write(p []byte) (int, error) {
	if !c.closed {
		c.closed = true
		close(c.ch)
	}
	return len(p), nil
}

// TestFilesBelongToTheOwner: whoever owns a private workspace owns what the program writes there.
func TestFilesBelongToTheOwner(t *testing.T) {
	requireRoot(t)
	b := open(t, native.Config{})
	for _, owner := range []int{0, 1000, user} {
		dir := openDir(t)
		require.NoError(t, os.Chmod(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o600))
		require.NoError(t, os.Chown(filepath.Join(dir, "old"), owner, owner))
		require.NoError(t, os.Chown(dir, owner, owner))
		r := run(t, b, "cat /work/old && echo more >> /work/old && echo new > /work/new && mkdir /work/sub && ln -s x /work/link && stat -c %u:%g /work/old",
			sandbox.Mount{Source: dir, Target: "/work", Writable: true})
		require.Zero(t, r.ExitCode, "owner %d: %s", owner, r.Stderr)
		assert.Equal(t, "old\n65532:65532\n", string(r.Stdout))
		for _, name := range []string{"old", "new", "sub", "link"} {
			var st syscall.Stat_t
			require.NoError(t, syscall.Lstat(filepath.Join(dir, name), &st))
			assert.EqualValues(t, owner, st.Uid, "%s of owner %d", name, owner)
			assert.EqualValues(t, owner, st.Gid, "%s of owner %d", name, owner)
		}
	}
}

// mounted is a scene in whose mount namespace a script has mounted something before.
func mounted(t *testing.T, script string, m sandbox.Mount, argv ...string) verdict {
	t.Helper()
	s := scene{Script: script, Argv: argv, Profile: sandbox.ContainerProfile{Binds: []sandbox.Mount{m}}}
	return s.stage(t, unix.CLONE_NEWNS)
}

// TestOverlayfs: a file system without id maps is read as it is, and refused for writing with the reason.
func TestOverlayfs(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	// The upper layer is a tmpfs, since the test's own directory may be an overlay already.
	script := "mount -t tmpfs none " + dir + " && cd " + dir + " && mkdir lower upper work all && echo lower > lower/name && " +
		"mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work all"
	m := sandbox.Mount{Source: dir + "/all", Target: "/work"}
	v := mounted(t, script, m, "cat", "/work/name")
	require.Empty(t, v.Stage, "%+v", v)
	assert.Equal(t, "lower\n", v.Stdout)
	m.Writable = true
	v = mounted(t, script, m, "touch", "/work/new")
	if v.Stage == "" { // a kernel whose overlayfs can be mapped
		assert.Zero(t, v.ExitCode, "%s", v.Stderr)
		return
	}
	assert.Equal(t, sandbox.KindRefused, v.Kind)
	assert.Equal(t, sandbox.PrivNonroot, v.Guarantee)
	assert.Contains(t, v.Cause, "id-mapped")
	assert.NotEmpty(t, v.Fix)
	v.nothingLeft(t)
}

// TestTmpfsSource: a tmpfs takes id maps.
func TestTmpfsSource(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	script := "mount -t tmpfs none " + dir + " && mkdir -m 700 " + dir + "/private && echo data > " + dir + "/private/name"
	v := mounted(t, script, sandbox.Mount{Source: dir + "/private", Target: "/work", Writable: true},
		"sh", "-c", "cat /work/name && echo new > /work/new && cat /work/new")
	require.Empty(t, v.Stage, "%+v", v)
	assert.Equal(t, "data\nnew\n", v.Stdout)
}

// TestUnreadableSource: what the sandbox's user cannot use is refused before the program runs.
func TestUnreadableSource(t *testing.T) {
	requireRoot(t)
	b := open(t, native.Config{})
	dir := openDir(t)
	m := sandbox.Mount{Source: dir, Target: "/work"}
	require.Equal(t, "ok\n", string(run(t, b, "ls /work && echo ok", m).Stdout))
	require.NoError(t, os.Chmod(dir, 0))
	typed := refuses(t, b, m)
	assert.Equal(t, sandbox.KindRefused, typed.Kind)
	assert.ErrorIs(t, typed, unix.EACCES)
	assert.Contains(t, typed.Fix, dir)
}

// TestSubmounts: something mounted below a source is named and refused, unless the mount asks for it; a proc or a sysfs
// always is.
func TestSubmounts(t *testing.T) {
	requireRoot(t)
	for _, c := range []struct {
		fstype    string
		recursive bool
		works     bool
	}{{"tmpfs", false, false}, {"tmpfs", true, true}, {"proc", false, false}, {"proc", true, false}, {"sysfs", true, false}} {
		dir := openDir(t)
		script := "mkdir " + dir + "/below && mount -t " + c.fstype + " none " + dir + "/below && echo inner > " + dir + "/below/name || test " + c.fstype + " != tmpfs"
		m := sandbox.Mount{Source: dir, Target: "/work", Recursive: c.recursive}
		v := mounted(t, script, m, "sh", "-c", "ls /work; cat /work/below/name")
		if c.works {
			require.Empty(t, v.Stage, "%+v", v)
			assert.Equal(t, "below\ninner\n", v.Stdout)
			continue
		}
		assert.Equal(t, "run", v.Stage, "%s", c.fstype)
		assert.Equal(t, sandbox.KindInvalid, v.Kind, "%s: %s", c.fstype, v.Cause)
		assert.Contains(t, v.Cause, dir+"/below")
		v.nothingLeft(t)
	}
}

// TestSharedSource: a source below a shared mount. What is mounted on the host while the program runs does not show inside,
// and the other way round there is nothing to see either.
func TestSharedSource(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	// The control: with shared propagation, a copy of the mount namespace does see what is mounted later.
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	defer func() { assert.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
	require.NoError(t, unix.Mount("", dir, "", unix.MS_SHARED, ""))
	require.NoError(t, os.Chmod(dir, 0o777))
	sub := filepath.Join(dir, "sub")
	require.NoError(t, os.Mkdir(sub, 0o777))
	require.NoError(t, os.Chmod(sub, 0o777))
	watcher := exec.Command("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", "echo up; read line; cat "+sub+"/late")
	in, err := watcher.StdinPipe()
	require.NoError(t, err)
	var seen bytes.Buffer
	up := make(chan struct{})
	watcher.Stdout = io.MultiWriter(&seen, &closeOnWrite{ch: up})
	require.NoError(t, watcher.Start())
	<-up

	b := open(t, native.Config{})
	stdin, feed := io.Pipe()
	started := make(chan struct{})
	result := make(chan sandbox.Result, 1)
	go func() {
		p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}}
		r, err := b.Run(context.WithoutCancel(t.Context()), p, sandbox.Command{
			Argv:  []string{"sh", "-c", "echo up; read line; cat /work/sub/late; grep -c ' /work' /proc/self/mountinfo"},
			Stdin: stdin, Stdout: &closeOnWrite{ch: started},
		})
		assert.NoError(t, err)
		result <- r
	}()
	select {
	case <-started:
	case r := <-result:
		require.Fail(t, "the call ended first", "%+v", r)
	}
	inside := mountsBelow(t, dir)
	assert.Len(t, inside, 1, "the sandbox's mounts show on the host: %q", inside)
	require.NoError(t, unix.Mount("tmpfs", sub, "tmpfs", 0, ""))
	defer func() { assert.NoError(t, unix.Unmount(sub, unix.MNT_DETACH)) }()
	require.NoError(t, os.WriteFile(filepath.Join(sub, "late"), []byte("late\n"), 0o644))
	_, err = feed.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, feed.Close())
	r := <-result
	assert.NotContains(t, string(r.Stdout), "late", "a mount of the host's showed inside")
	assert.Contains(t, string(r.Stdout), "up\n1\n")
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, watcher.Wait())
	assert.Equal(t, "up\nlate\n", seen.String(), "the control sees it")
}

// mountsBelow lists the mount points at and below path.
func mountsBelow(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	var out []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[4] == path || strings.HasPrefix(f[4], path+"/") {
			out = append(out, f[4])
		}
	}
	return out
}
