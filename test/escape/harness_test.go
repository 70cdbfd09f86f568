//go:build linux

package escape

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// Where the helper and an attempt's directory are inside.
const (
	helperDir = "/escape"
	placeDir  = "/place"
)

// unprivileged is the host user of controls that must not run as root.
const unprivileged = 65533

// attempt is one way out: what the helper does, what it needs, and how it is shown to work unconfined.
type attempt struct {
	// name is the helper's name for it; label tells variants apart, "" means name.
	name, label string
	// args are the helper's arguments. nil means the place.
	args func(s side) []string
	// setup fills the fixture, once for the control and once for the confined run.
	setup func(t *testing.T, f *fixture)
	// proof is evidence on the host that counts as success beside the helper's own verdict.
	proof func(f *fixture) bool
	// writable and exec are the switches of the place's mount; profile changes the rest.
	writable, exec bool
	profile        func(p *sandbox.ContainerProfile)
	// guarantee is the promise that leaves this attempt out when the report gives a reservation for it.
	guarantee sandbox.Guarantee
	// about are words that such a reservation has when it concerns this attempt.
	about string
	// unshare are the throw-away namespaces of the control. asInit gives it a new pid namespace with a stranger as PID 1,
	// supervised a parent; nobody runs it as an ordinary user; ownCopy lets it destroy its program.
	unshare            uintptr
	asInit, supervised bool
	nobody, ownCopy    bool
	// freezes says that a filter may end one thread of the program and leave the rest waiting for it.
	freezes bool
}

func (a attempt) title() string {
	if a.label != "" {
		return a.label
	}
	return a.name
}

// side is what an attempt's arguments depend on.
type side struct {
	// place is the path of the fixture's directory where the attempt runs, host its path on the host.
	place, host string
	confined    bool
	f           *fixture
}

// fixture is what one run of an attempt finds.
type fixture struct {
	// dir is a new directory of the host, the place. outside is another one that is never mounted.
	dir, outside string
	// token is in nothing else on this machine.
	token string
	// victim is a process of the host, when the attempt needs one.
	victim *os.Process
	// helper is the program that the control runs.
	helper string
}

func (h *harness) newFixture(t *testing.T) *fixture {
	f := &fixture{dir: tempDir(t), outside: tempDir(t), token: token(t), helper: h.helper}
	secret := filepath.Join(f.outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte(f.token), 0o644))
	return f
}

func token(t *testing.T) string {
	b := make([]byte, 8)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return "token" + hex.EncodeToString(b)
}

// tempDir returns a new directory that other users may enter.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-escape-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// outcome is what came of one run.
type outcome struct {
	// began says that the attempt itself was reached; without it a failure means nothing.
	began, success bool
	detail         string
	stdout         []byte
}

// parse reads the helper's output.
func parse(name string, out []byte, ended string) outcome {
	o := outcome{detail: ended, stdout: out}
	for line := range bytes.Lines(out) {
		var v struct {
			Attempt string
			Success bool
			Detail  string
		}
		switch {
		case string(line) == "begin "+name+"\n":
			o.began = true
		case json.Unmarshal(line, &v) == nil && v.Attempt == name:
			o.success, o.detail = v.Success, v.Detail
		}
	}
	return o
}

// arguments returns the helper's argv without its path.
func (a attempt) arguments(s side) []string {
	args := []string{a.name}
	if a.args == nil {
		return append(args, s.place)
	}
	return append(args, a.args(s)...)
}

// unconfined runs the control.
func (h *harness) unconfined(t *testing.T, a attempt, f *fixture) outcome {
	t.Helper()
	args := a.arguments(side{place: f.dir, host: f.dir, f: f})
	attr := &syscall.SysProcAttr{Unshareflags: a.unshare}
	switch {
	case a.asInit:
		args = append([]string{"as-init"}, args...)
		attr.Cloneflags = syscall.CLONE_NEWPID
		attr.Unshareflags |= syscall.CLONE_NEWNS
	case a.supervised:
		args = append([]string{"supervise"}, args...)
	}
	if a.nobody {
		attr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
	if a.ownCopy {
		f.helper = filepath.Join(f.outside, "attempt")
		copyFile(t, h.helper, f.helper, 0o755)
	}
	cmd := exec.Command(f.helper, args...)
	cmd.SysProcAttr = attr
	cmd.Dir = f.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + f.outside, "ATTEMPT_PROGRAM=" + h.helper}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	firstLine, _, _ := strings.Cut(errs.String(), "\n")
	return parse(a.name, out.Bytes(), strings.TrimSpace(firstLine+" "+describe(err)))
}

func describe(err error) string {
	if err == nil {
		return "no verdict"
	}
	return err.Error()
}

// profile returns the profile of an attempt's confined run.
func (h *harness) profile(t *testing.T, a attempt, f *fixture) sandbox.ContainerProfile {
	t.Helper()
	if a.writable {
		h.give(t, f.dir)
	}
	p := sandbox.ContainerProfile{
		Image:  h.image,
		Limits: sandbox.Limits{Wall: 30 * time.Second},
		Binds: []sandbox.Mount{
			{Source: filepath.Dir(h.helper), Target: helperDir, Exec: true},
			{Source: f.dir, Target: placeDir, Writable: a.writable, Exec: a.exec},
		},
	}
	if a.freezes {
		p.Limits.Wall = 5 * time.Second
	}
	if a.profile != nil {
		a.profile(&p)
	}
	return p
}

// confined runs the attempt inside.
func (h *harness) confined(t *testing.T, a attempt, f *fixture) outcome {
	t.Helper()
	argv := append([]string{helperDir + "/" + filepath.Base(h.helper)},
		a.arguments(side{place: placeDir, host: f.dir, confined: true, f: f})...)
	res, err := h.b.Run(t.Context(), h.profile(t, a, f), sandbox.Command{Argv: argv})
	require.NoError(t, err, "the sandbox did not run")
	return a.outcome(t, res)
}

// outcome reads what came of an attempt, which has to have been reached.
func (a attempt) outcome(t *testing.T, res sandbox.Result) outcome {
	t.Helper()
	o := parse(a.name, res.Stdout, strings.TrimSpace(string(res.Stderr))+" "+string(res.Status)+" "+res.Signal)
	require.True(t, o.began, "the attempt was not reached: %s, stdout %q, exit %d", o.detail, res.Stdout, res.ExitCode)
	return o
}

// judge makes one attempt both ways.
func (h *harness) judge(t *testing.T, a attempt) {
	t.Run(a.title(), func(t *testing.T) {
		control := h.control(t, a)
		f := h.newFixture(t)
		if a.setup != nil {
			a.setup(t, f)
		}
		before := treeSum(t, f.dir)
		o := h.confined(t, a, f)
		proven := a.proof != nil && a.proof(f)
		if words := h.reservation(t, a, f); words != "" {
			h.tally.record(a.title(), false, "the backend's report says: "+words)
			return
		}
		assert.False(t, o.success || proven, "the attempt succeeded: %s", o.detail)
		if !a.writable {
			assert.Equal(t, before, treeSum(t, f.dir), "a tree that was mounted read-only changed")
		}
		t.Logf("unconfined: %s; confined: %s", control.detail, o.detail)
		h.tally.record(a.title(), control.success, control.detail)
	})
}

// reservation is what the report says the attempt's guarantee leaves out; "" when it holds without one.
func (h *harness) reservation(t *testing.T, a attempt, f *fixture) string {
	if a.guarantee == "" {
		return ""
	}
	report, err := h.b.Ready(t.Context(), h.profile(t, a, f))
	require.NoError(t, err)
	if words := report.Get(a.guarantee).Reason; strings.Contains(words, a.about) {
		return words
	}
	return ""
}

// control makes the attempt where nothing stops it.
func (h *harness) control(t *testing.T, a attempt) outcome {
	f := h.newFixture(t)
	if a.setup != nil {
		a.setup(t, f)
	}
	o := h.unconfined(t, a, f)
	if a.proof != nil && a.proof(f) {
		o.success, o.detail = true, o.detail+" (proof found)"
	}
	return o
}

// start begins a process of the host that hangs with args, and ends it with the test.
func (h *harness) start(t *testing.T, dir string, env []string, args ...string) *os.Process {
	t.Helper()
	cmd := exec.Command(h.helper, append([]string{"hang"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process
}

// dead reports whether the process is a zombie or gone.
func dead(pid int) bool {
	for range 20 {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// having returns the host's processes that have text among their arguments.
func having(text string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.NoError(t, os.Chmod(to, mode))
}

// just returns arguments that do not depend on the side.
func just(args ...string) func(side) []string {
	return func(side) []string { return slices.Clone(args) }
}
