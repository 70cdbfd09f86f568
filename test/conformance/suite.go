//go:build unix

package conformance

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// Suite says how to get the backend under test and in what it differs from the others by design. A difference is
// declared here, never found out by a test that then passes.
type Suite struct {
	// Open returns a new backend. The suite closes it.
	Open func(t *testing.T) sandbox.Backend
	// Image is the profile's image; "" means the backend's own default.
	Image string
	// Probe is the path of the built helper (see [BuildProbe]). "" builds one.
	Probe string
	// Waived lists the guarantees that the backend was opened without. The suite then checks that the report says so,
	// and leaves out what they promise.
	Waived []sandbox.Guarantee
	// OtherKernel says that /proc inside shows another kernel than the host's (runsc, Kata), so that no_new_privs and
	// seccomp cannot be read there and its processes cannot be seen from the host.
	OtherKernel bool
	// ForeignOwners says that a writable mount may belong to another host user than the caller, and that what is
	// written there belongs to its owner.
	ForeignOwners bool
	// HostIDs says that the ids inside are the host's: a writable mount has to belong to whom the program runs as, which
	// for a root caller is 65532, and what is written there is that user's.
	HostIDs bool
	// Unmasked lists files of /proc and /sys that the backend cannot hide. The report has to say so.
	Unmasked []string
	// TextPaths says that a mount's path has to be UTF-8, and that another is refused.
	TextPaths bool
	// NoIPv6 says that the loopback inside has no IPv6 address.
	NoIPv6 bool
	// LeastMemoryMB is the smallest memory limit that the backend takes; 0 means sandbox.MinMemoryMB.
	LeastMemoryMB int
	// Only lists the groups to run, when not nil: for a backend that another run of the suite has shown whole.
	Only []string
	// Slow says that a call takes a good part of a second, so that the suite tries one of each kind where it else tries
	// every number.
	Slow bool
}

// rootless is the user that a root caller's programs are, inside.
const rootless = 65532

// probeDir is where the helper is inside.
const probeDir = "/conformance"

// env is what one test of the suite works with.
type env struct {
	Suite
	b sandbox.Backend
}

// Run runs the whole suite.
func Run(t *testing.T, s Suite) {
	if s.Probe == "" {
		s.Probe = BuildProbe(t)
	}
	RunContract(t, s)
	hostile(t)
	inherited(t)
	e := &env{Suite: s, b: s.open(t)}
	ran := 0
	for _, group := range []struct {
		name string
		test func(*env, *testing.T)
	}{
		{"results", (*env).results},
		{"output", (*env).output},
		{"stdin", (*env).stdin},
		{"deadlines", (*env).deadlines},
		{"limits", (*env).limits},
		{"survivors", (*env).survivors},
		{"environment", (*env).environment},
		{"identity", (*env).identity},
		{"process", (*env).process},
		{"devices", (*env).devices},
		{"proc", (*env).proc},
		{"mounts", (*env).mounts},
		{"owners", (*env).owners},
		{"refusals", (*env).refusals},
		{"mount refusals", (*env).mountRefusals},
		{"concurrency", (*env).concurrency},
		{"leaks", (*env).leaks},
		{"closing", (*env).closing},
	} {
		if s.Only == nil || slices.Contains(s.Only, group.name) {
			ran++
			t.Run(group.name, func(t *testing.T) { group.test(e, t) })
		}
	}
	if s.Only != nil {
		assert.Len(t, s.Only, ran, "every name is a group's")
	}
}

// RunContract runs the part of the suite that needs no program: reports, and refusals that concern values alone. A fake
// backend passes it too.
func RunContract(t *testing.T, s Suite) {
	e := &env{Suite: s, b: s.open(t)}
	t.Run("report", e.report)
	t.Run("invalid values", e.invalidValues)
	t.Run("closed", e.closed)
}

// BuildProbe builds the suite's helper, static, into a directory that every user may read, and returns its path.
func BuildProbe(t *testing.T) string {
	return Build(t, "github.com/soulacy/toolcell/test/conformance/probe")
}

// programsVariable names a directory of built programs, for a machine without Go.
const programsVariable = "TOOLCELL_TEST_PROGRAMS"

// Build builds the main package pkg, static, into a directory that every user may read, and returns its path. With
// TOOLCELL_TEST_PROGRAMS in the environment it is copied from there.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolcell-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	out := filepath.Join(dir, filepath.Base(pkg))
	if built := os.Getenv(programsVariable); built != "" {
		copyProgram(t, filepath.Join(built, filepath.Base(pkg)), out)
		return out
	}
	build := exec.Command("go", "build", "-o", out, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	msg, err := build.CombinedOutput()
	require.NoError(t, err, "go build %s: %s", pkg, msg)
	return out
}

func (s Suite) open(t *testing.T) sandbox.Backend {
	b := s.Open(t)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// promised reports whether g has to hold. When the suite says that it was waived, the report has to say so too.
func (e *env) promised(t *testing.T, g sandbox.Guarantee) bool {
	t.Helper()
	if !slices.Contains(e.Waived, g) {
		return true
	}
	report, err := e.b.Ready(t.Context(), e.profile())
	require.NoError(t, err)
	require.True(t, report.Get(g).Waived, "%s is neither enforced nor waived", g)
	t.Logf("%s was waived by the operator; nothing is promised", g)
	return false
}

// profile returns the suite's base profile: the zero profile plus the helper's directory.
func (e *env) profile() sandbox.ContainerProfile {
	return sandbox.ContainerProfile{
		Image: e.Image,
		Binds: []sandbox.Mount{{Source: filepath.Dir(e.Probe), Target: probeDir, Exec: true}},
	}
}

// with returns the base profile after change.
func (e *env) with(change func(*sandbox.ContainerProfile)) sandbox.ContainerProfile {
	p := e.profile()
	change(&p)
	return p
}

// probe returns the argv of one probe.
func (e *env) probe(name string, args ...string) []string {
	return append([]string{probeDir + "/" + filepath.Base(e.Probe), name}, args...)
}

// sh returns a Command that runs script.
func sh(script string, args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...)}
}

// run runs c under p and requires a Result.
func (e *env) run(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	t.Helper()
	res, err := e.b.Run(t.Context(), p, c)
	require.NoError(t, err)
	return res
}

// ok runs c under p, requires that it exits 0, and returns its output.
func (e *env) ok(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) string {
	t.Helper()
	res := e.run(t, p, c)
	require.Equal(t, sandbox.StatusExited, res.Status, "stderr: %s, hints: %q", res.Stderr, res.Hints)
	require.Zero(t, res.ExitCode, "stdout: %s, stderr: %s", res.Stdout, res.Stderr)
	return string(res.Stdout)
}

// see runs a probe under p and decodes its JSON into a T.
func see[T any](t *testing.T, e *env, p sandbox.ContainerProfile, name string, args ...string) T {
	t.Helper()
	var v T
	out := e.ok(t, p, sandbox.Command{Argv: e.probe(name, args...)})
	require.NoError(t, json.Unmarshal([]byte(out), &v), "output: %s", out)
	return v
}

// refused runs c under p and requires a typed error of one of kinds (any kind, when none is given) on one line.
func (e *env) refused(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command, kinds ...error) *sandbox.Error {
	t.Helper()
	res, err := e.b.Run(t.Context(), p, c)
	require.Error(t, err)
	return checkRefusal(t, res, err, kinds...)
}

// checkRefusal checks that err is a refusal as the contract wants it, and that there is no Result beside it.
func checkRefusal(t *testing.T, res sandbox.Result, err error, kinds ...error) *sandbox.Error {
	t.Helper()
	assert.Empty(t, res.Status, "a refused call has no status")
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	assert.NotNil(t, typed.Cause)
	assert.NotContains(t, err.Error(), "\n")
	if len(kinds) > 0 {
		match := slices.ContainsFunc(kinds, func(k error) bool { return isKind(err, k) })
		assert.True(t, match, "kind of %q is %s, want one of %v", err, typed.Kind, kinds)
	}
	return typed
}

// marker returns a string that is in no other process's arguments.
func marker(t *testing.T) string {
	return "conformance-" + strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '-'
		}
		return r
	}, t.Name()) + "-" + time.Now().Format("150405.000000000")
}

// holding returns the host's ids of the processes that have m among their arguments.
func holding(t *testing.T, m string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var pids []string
	for _, p := range lines {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), m) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}
	return pids
}

// gone asserts that no process with m among its arguments is left on the host.
func gone(t *testing.T, m string) {
	t.Helper()
	assert.Empty(t, holding(t, m), "processes of the sandbox are left")
}

// background starts c under p and returns what Run will have returned, and the way to cancel it.
func (e *env) background(t *testing.T, p sandbox.ContainerProfile, c sandbox.Command) (<-chan outcome, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan outcome, 1)
	go func() {
		res, err := e.b.Run(ctx, p, c)
		done <- outcome{res, err}
	}()
	t.Cleanup(cancel)
	return done, cancel
}

// outcome is what Run returned.
type outcome struct {
	res sandbox.Result
	err error
}
