//go:build linux

package escape

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// enforced reports whether the backend promises g on this host.
func (h *harness) enforced(g sandbox.Guarantee) bool {
	report, err := h.b.Ready(context.Background(), sandbox.ContainerProfile{Image: h.image})
	return err == nil && report.Enforced(g)
}

// listener is a server on the host's loopback.
func listener(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l
}

// channels are ways for two parties to meet. They meet when both are on the host; a sandbox meets neither the host nor
// another sandbox.
func (h *harness) channels(t *testing.T) {
	for _, channel := range []string{
		"abstract-stream", "abstract-dgram", "tcp-port", "udp-port", "sysv-shm", "sysv-sem", "sysv-msg", "posix-mq", "shm-file", "tmp-file",
		"keyring",
	} {
		t.Run(channel, func(t *testing.T) {
			name := token(t)
			a := attempt{name: "meet", args: just(channel, name)}
			end := h.holdUnconfined(t, channel, name)
			control := h.unconfined(t, a, h.newFixture(t))
			o := h.confined(t, a, h.newFixture(t))
			assert.False(t, o.success, "a sandbox meets the host: %s", o.detail)
			end()
			end = h.holdConfined(t, channel, name)
			o = h.confined(t, a, h.newFixture(t))
			end()
			assert.False(t, o.success, "two sandboxes meet: %s", o.detail)
			h.tally.record("channel "+channel+" to the host", control.success, control.detail)
			h.tally.record("channel "+channel+" between sandboxes", control.success, control.detail)
		})
	}
}

// holdUnconfined has a process of the host hold the channel, and returns the way to end it.
func (h *harness) holdUnconfined(t *testing.T, args ...string) func() {
	t.Helper()
	return h.hostHelper(t, append([]string{"hold"}, args...)...)
}

// hostHelper starts the helper on the host, waits until it holds, and returns the way to end it.
func (h *harness) hostHelper(t *testing.T, args ...string) func() {
	t.Helper()
	cmd := exec.Command(h.helper, args...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	t.Logf("host: %s", strings.TrimSpace(line))
	return func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
}

// holdConfined has a sandbox hold the channel. A sandbox that may not even make the thing holds nothing, which is as good.
func (h *harness) holdConfined(t *testing.T, args ...string) func() {
	t.Helper()
	return h.sandboxHelper(t, attempt{}, h.newFixture(t), append([]string{"hold"}, args...)...)
}

// sandboxHelper starts the helper in a sandbox, waits until it holds, and returns the way to end it.
func (h *harness) sandboxHelper(t *testing.T, a attempt, f *fixture, args ...string) func() {
	t.Helper()
	in, feed := io.Pipe()
	lines, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		argv := append([]string{helperDir + "/" + filepath.Base(h.helper)}, args...)
		_, err := h.b.Run(context.Background(), h.profile(t, a, f), sandbox.Command{Argv: argv, Stdin: in, Stdout: out})
		_ = out.CloseWithError(fmt.Errorf("the call ended: %v", err))
		done <- err
	}()
	r := bufio.NewReader(lines)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	t.Logf("sandbox: %s", strings.TrimSpace(line))
	return func() {
		_ = feed.Close()
		assert.NoError(t, <-done)
	}
}

// swapPlace is a directory with a true directory and a link to a secret one, which are exchanged all the time.
func swapPlace(t *testing.T, f *fixture) {
	require.NoError(t, os.Chmod(f.dir, 0o777))
	require.NoError(t, os.Mkdir(filepath.Join(f.dir, "sub"), 0o777))
	require.NoError(t, os.Symlink(f.outside, filepath.Join(f.dir, "link")))
}

// races go through a directory that another sandbox exchanges for a link out of the mount.
func (h *harness) races(t *testing.T) {
	escaped := func(f *fixture) bool {
		found, err := filepath.Glob(filepath.Join(f.outside, "escaped-*"))
		return err == nil && len(found) > 0
	}
	for _, a := range []attempt{
		{name: "race-write", writable: true, setup: swapPlace, proof: escaped},
		{name: "race-read", writable: true, setup: swapPlace, args: func(s side) []string { return []string{s.place, s.f.token} }},
	} {
		t.Run(a.name, func(t *testing.T) {
			f := h.newFixture(t)
			swapPlace(t, f)
			end := h.hostHelper(t, "swap", f.dir)
			control := h.unconfined(t, a, f)
			end()
			ok := control.success || a.proof != nil && a.proof(f)

			f = h.newFixture(t)
			swapPlace(t, f)
			end = h.sandboxHelper(t, a, f, "swap", placeDir)
			o := h.confined(t, a, f)
			end()
			assert.False(t, o.success || a.proof != nil && a.proof(f), "the attempt succeeded: %s", o.detail)
			h.tally.record(a.name, ok, control.detail)
		})
	}
	t.Run("race-mount", h.raceMount)
}

// raceMount mounts a directory that a sandbox exchanges meanwhile for a link to one that no mount may show. What was
// checked has to be what is mounted: the directory, or nothing.
func (h *harness) raceMount(t *testing.T) {
	f := h.newFixture(t)
	f.outside = h.protected
	require.NoError(t, os.WriteFile(filepath.Join(h.protected, "secret"), []byte(f.token), 0o644))
	swapPlace(t, f)
	source := filepath.Join(f.dir, "sub")
	end := sync.OnceFunc(h.sandboxHelper(t, attempt{writable: true}, f, "swap", placeDir))
	defer end()
	control := fooled(source, h.protected)
	mounted, refused := 0, 0
	tries := 100
	if h.together {
		tries = 20
	}
	for range tries {
		p := sandbox.ContainerProfile{Image: h.image, Binds: []sandbox.Mount{{Source: source, Target: "/data"}}}
		res, err := h.b.Run(t.Context(), p, sandbox.Command{Argv: []string{"/bin/sh", "-c", "cat /data/secret; ls /data"}})
		if err != nil {
			if refused++; refused < 4 {
				t.Logf("refused: %v", err)
			}
			continue
		}
		mounted++
		require.NotContains(t, string(res.Stdout), f.token, "the link was followed after the check")
	}
	t.Logf("%d calls mounted the directory, %d were refused", mounted, refused)
	if mounted == 0 && h.together { // few calls, and each asks twice for a place that is exchanged all the time
		end()
		h.mountsAtRest(t, f)
		mounted++
	}
	assert.Positive(t, mounted, "every call was refused, so nothing was tried")
	h.tally.record("race-mount", control, "a careless check was never fooled here")
}

// mountsAtRest shows that the same place is mounted when nobody exchanges it.
func (h *harness) mountsAtRest(t *testing.T, f *fixture) {
	source := filepath.Join(f.dir, "sub")
	if info, err := os.Lstat(source); err == nil && info.Mode()&os.ModeSymlink != 0 {
		source = filepath.Join(f.dir, "link")
	}
	p := sandbox.ContainerProfile{Image: h.image, Binds: []sandbox.Mount{{Source: source, Target: "/data"}}}
	res, err := h.b.Run(t.Context(), p, sandbox.Command{Argv: []string{"/bin/sh", "-c", "ls -d /data"}})
	require.NoError(t, err)
	require.Equal(t, "/data\n", string(res.Stdout))
}

// fooled checks where source leads, then opens it, as two steps; it reports whether that was ever fooled.
func fooled(source, protected string) bool {
	for range 200000 {
		real, err := filepath.EvalSymlinks(source)
		if err != nil || real == protected {
			continue
		}
		if _, err := os.ReadFile(filepath.Join(source, "secret")); err == nil {
			return true
		}
	}
	return false
}

// allowed makes two attempts under profiles that allow them: that they succeed shows that it is the profile which stops them
// elsewhere.
func (h *harness) allowed(t *testing.T) {
	for _, a := range []attempt{
		{name: "inotify", profile: func(p *sandbox.ContainerProfile) { p.Inotify = true }},
		{name: "drop-exec", args: just("/tmp"), profile: func(p *sandbox.ContainerProfile) { p.ScratchExec = true }},
	} {
		o := h.confined(t, a, h.newFixture(t))
		assert.True(t, o.success, "%s: %s", a.name, o.detail)
	}
}

// crash dies under a core_pattern that runs a program as the host's root. The pattern is the whole machine's, so it is
// set for the moment only.
func (h *harness) crash(t *testing.T) {
	const pattern = "/proc/sys/kernel/core_pattern"
	old, err := os.ReadFile(pattern)
	require.NoError(t, err)
	handlers := tempDir(t)
	handler := filepath.Join(handlers, "handler")
	set := func(f *fixture) error {
		script := fmt.Sprintf("#!/bin/sh\ngrep -q %s /proc/$1/cmdline && : > %s/dumped\n", f.token, f.outside)
		if err := os.WriteFile(handler, []byte(script), 0o755); err != nil {
			return err
		}
		return os.WriteFile(pattern, []byte("|"+handler+" %P"), 0)
	}
	a := attempt{name: "crash", args: func(s side) []string { return []string{s.f.token, filepath.Join(s.f.outside, "dumped")} }}
	dumped := func(f *fixture) bool { return exists(f, "dumped") }
	f := h.newFixture(t)
	if err := set(f); err != nil {
		h.tally.record("crash", false, err.Error())
		return
	}
	defer func() { require.NoError(t, os.WriteFile(pattern, old, 0)) }()
	control := h.unconfined(t, a, f)
	ok := dumped(f)

	f = h.newFixture(t)
	require.NoError(t, set(f))
	o := h.confined(t, a, f)
	time.Sleep(200 * time.Millisecond) // the handler, if there were one, runs beside the call
	assert.False(t, dumped(f), "the host's handler ran: %s", o.detail)
	h.tally.record("crash", ok, control.detail)
}

// hostSockets: a socket in a mounted directory is either out of reach or said to be in reach, never silently so.
func (h *harness) hostSockets(t *testing.T) {
	f := h.newFixture(t)
	path := filepath.Join(f.dir, "deep", "socket")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o777))
	var l net.Listener
	a := attempt{name: "connect-path", args: func(s side) []string { return []string{s.place + "/deep/socket"} }}
	serve := func() {
		var err error
		l, err = net.Listen("unix", path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, 0o777))
	}
	report, err := h.b.Ready(t.Context(), h.profile(t, a, f))
	require.NoError(t, err)
	line := report.Get(sandbox.IPCNoHostSockets)

	// A socket that is there before the call: a refusal that names it, or the report's word holds.
	serve()
	control := h.unconfined(t, a, f)
	argv := []string{helperDir + "/" + filepath.Base(h.helper), "connect-path", placeDir + "/deep/socket"}
	res, err := h.b.Run(t.Context(), h.profile(t, a, f), sandbox.Command{Argv: argv})
	if err != nil {
		assert.True(t, strings.Contains(err.Error(), "socket"), "%v", err)
		t.Logf("refused: %v", err)
	} else {
		o := parse("connect-path", res.Stdout, "")
		require.True(t, o.began)
		assert.Equal(t, line.Enforced, !o.success, "the report says %+v: %s", line, o.detail)
		assert.Equal(t, report, res.Enforcement)
	}
	require.NoError(t, l.Close())
	if line.Enforced {
		h.tally.record("connect-path", control.success, control.detail)
	} else {
		assert.NotEmpty(t, line.Reason)
		h.tally.record("connect-path", false, "the backend reports ipc.no-host-sockets as absent: "+line.Reason)
	}
}

// selfInterpreter runs a script whose interpreter is "whatever runs me" as the call's program: in a careless runtime that
// is the runtime's own program, which something inside could then write to (CVE-2019-5736). Whatever comes of the call, the
// programs of ours stay what they are, which TestEscape checks at its end.
func (h *harness) selfInterpreter(t *testing.T) {
	f := h.newFixture(t)
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "script"), []byte("#!/proc/self/exe\n"), 0o755))
	a := attempt{exec: true}
	for _, argv := range [][]string{{placeDir + "/script"}, {"/bin/sh", "-c", placeDir + "/script; exit 3"}} {
		res, err := h.b.Run(t.Context(), h.profile(t, a, f), sandbox.Command{Argv: argv})
		t.Logf("%q: %v, exit %d, stdout %q, stderr %q", argv, err, res.ExitCode, res.Stdout, res.Stderr)
	}
	assert.Equal(t, h.sums, h.programs(t))
}
