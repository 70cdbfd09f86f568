//go:build unix

package conformance

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// report: every guarantee has a line, before anything ran, and each Result carries the same lines.
func (e *env) report(t *testing.T) {
	p := e.profile()
	report, err := e.b.Ready(t.Context(), p)
	require.NoError(t, err)
	require.NoError(t, e.b.Prepare(t.Context(), p))
	var named []sandbox.Guarantee
	for _, line := range report {
		named = append(named, line.Guarantee)
		if line.Enforced {
			assert.NotEmpty(t, line.Mechanism, "%s is kept by nothing", line.Guarantee)
		} else {
			assert.NotEmpty(t, line.Reason, "%s is absent without a reason", line.Guarantee)
			assert.Empty(t, line.Mechanism, "%s", line.Guarantee)
		}
	}
	assert.ElementsMatch(t, sandbox.Guarantees(), named)
	for _, g := range e.Waived {
		assert.True(t, report.Get(g).Waived, "%s", g)
		assert.False(t, report.Enforced(g), "%s is enforced, so the suite has to test it", g)
	}
	res := e.run(t, p, sandbox.Command{Argv: []string{"true"}})
	assert.Equal(t, report, res.Enforcement)
	e.required(t, report)
}

// required: a guarantee that is absent refuses the call when the profile asks for it.
func (e *env) required(t *testing.T, report sandbox.Report) {
	kept := 0
	for _, line := range report {
		if line.Enforced {
			if kept++; e.Slow && kept > 1 {
				continue
			}
		}
		p := e.with(func(p *sandbox.ContainerProfile) { p.Require = []sandbox.Guarantee{line.Guarantee} })
		_, err := e.b.Ready(t.Context(), p)
		switch {
		case line.Enforced:
			assert.NoError(t, err, "%s", line.Guarantee)
		case !line.Waived:
			typed := e.refused(t, p, sandbox.Command{Argv: []string{"true"}}, sandbox.ErrRefused)
			assert.Equal(t, line.Guarantee, typed.Guarantee)
			require.Error(t, err)
		}
	}
}

// profileCase changes a valid profile into one that has to be refused.
type profileCase map[string]func(*sandbox.ContainerProfile)

// commandCase changes a valid command into one that has to be refused.
type commandCase map[string]func(*sandbox.Command)

// invalidValues: what cannot be meant is refused by its value alone.
func (e *env) invalidValues(t *testing.T) {
	for name, change := range invalidProfiles() {
		t.Run("profile/"+name, func(t *testing.T) {
			p := e.with(change)
			e.refused(t, p, sandbox.Command{Argv: []string{"true"}}, sandbox.ErrInvalid)
			_, err := e.b.Ready(t.Context(), p)
			assert.ErrorIs(t, err, sandbox.ErrInvalid, "Ready answers what a call would")
		})
	}
	for name, change := range invalidCommands() {
		t.Run("command/"+name, func(t *testing.T) {
			c := sandbox.Command{Argv: []string{"true"}}
			change(&c)
			e.refused(t, e.profile(), c, sandbox.ErrInvalid)
		})
	}
	t.Run("argument too long says what to do", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"echo", "short", strings.Repeat("x", sandbox.MaxArg)}}
		typed := e.refused(t, e.profile(), c, sandbox.ErrInvalid)
		assert.Contains(t, typed.Error(), "argument 2")
		assert.Contains(t, typed.Error(), "stdin")
	})
}

func invalidProfiles() profileCase {
	type P = *sandbox.ContainerProfile
	cases := profileCase{
		"memory negative":      func(p P) { p.Limits.MemoryMB = -1 },
		"memory too small":     func(p P) { p.Limits.MemoryMB = sandbox.MinMemoryMB - 1 },
		"memory absurd":        func(p P) { p.Limits.MemoryMB = math.MaxInt },
		"cpus negative":        func(p P) { p.Limits.CPUs = -0.5 },
		"cpus not a number":    func(p P) { p.Limits.CPUs = math.NaN() },
		"cpus infinite":        func(p P) { p.Limits.CPUs = math.Inf(1) },
		"cpus tiny":            func(p P) { p.Limits.CPUs = 1e-9 },
		"cpu seconds negative": func(p P) { p.Limits.CPUSeconds = -1 },
		"wall negative":        func(p P) { p.Limits.Wall = -time.Second },
		"wall absurd":          func(p P) { p.Limits.Wall = math.MaxInt64 },
		"open files negative":  func(p P) { p.Limits.OpenFiles = -1 },
		"open files too few":   func(p P) { p.Limits.OpenFiles = 1 },
		"open files absurd":    func(p P) { p.Limits.OpenFiles = math.MaxInt },
		"file size negative":   func(p P) { p.Limits.FileSizeMB = -1 },
		"file size absurd":     func(p P) { p.Limits.FileSizeMB = math.MaxInt },
		"output negative":      func(p P) { p.Limits.OutputKB = -1 },
		"output absurd":        func(p P) { p.Limits.OutputKB = math.MaxInt },
		"processes negative":   func(p P) { p.PIDs = -1 },
		"processes absurd":     func(p P) { p.PIDs = math.MaxInt },
		"scratch negative":     func(p P) { p.TmpfsMB = -1 },
		"shared memory absurd": func(p P) { p.ShmMB = math.MaxInt },
		"workdir relative":     func(p P) { p.Workdir = "tmp" },
		"workdir not clean":    func(p P) { p.Workdir = "/tmp/../etc" },
		"workdir NUL":          func(p P) { p.Workdir = "/tmp\x00" },
		"workdir in proc":      func(p P) { p.Workdir = "/proc/self/fd/7" },
		"env without a name":   func(p P) { p.Env = []string{"=x"} },
		"env without a value":  func(p P) { p.Env = []string{"NAME"} },
		"env NUL":              func(p P) { p.Env = []string{"A=b\x00C=d"} },
		"unknown guarantee":    func(p P) { p.Require = []sandbox.Guarantee{"no.such"} },
		"unreadable -v":        func(p P) { p.Mounts = []string{"/tmp"} },
	}
	for _, user := range []string{"root", "0", "0:0", "1000:0", "0:1000", "nosuchuser", "1000", "-1:0", "1000:1000 --privileged", "4294967296:1"} {
		cases["user "+user] = func(p P) { p.User = user }
	}
	return cases
}

func invalidCommands() commandCase {
	type C = *sandbox.Command
	return commandCase{
		"no program":        func(c C) { c.Argv = nil },
		"empty program":     func(c C) { c.Argv = []string{""} },
		"NUL in argv":       func(c C) { c.Argv = []string{"echo", "a\x00b"} },
		"NUL in env":        func(c C) { c.Env = []string{"A=a\x00b"} },
		"NUL in dir":        func(c C) { c.Dir = "/tmp\x00/x" },
		"env entry":         func(c C) { c.Env = []string{"NAME"} },
		"env entry too big": func(c C) { c.Env = []string{"FOO=" + strings.Repeat("x", 200000)} },
		"env too big": func(c C) {
			for range 20 {
				c.Env = append(c.Env, "A"+strings.Repeat("B", len(c.Env))+"="+strings.Repeat("x", 100000))
			}
		},
		"argument too long":  func(c C) { c.Argv = []string{"echo", strings.Repeat("x", sandbox.MaxArg)} },
		"dir relative":       func(c C) { c.Dir = "x" },
		"dir not clean":      func(c C) { c.Dir = "/tmp/./x/.." },
		"dir in proc":        func(c C) { c.Dir = "/proc/self/fd/9" },
		"timeout negative":   func(c C) { c.Timeout = -1 },
		"id with a slash":    func(c C) { c.ID = "../../etc" },
		"id too long":        func(c C) { c.ID = strings.Repeat("x", 65) },
		"id that is no name": func(c C) { c.ID = ".." },
	}
}

// closed: a closed backend refuses, and closing twice is no fault.
func (e *env) closed(t *testing.T) {
	b := e.Open(t)
	require.NoError(t, b.Close())
	assert.NoError(t, b.Close())
	own := &env{Suite: e.Suite, b: b}
	own.refused(t, own.profile(), sandbox.Command{Argv: []string{"true"}}, sandbox.ErrRefused, sandbox.ErrUnavailable)
	_, err := b.Ready(t.Context(), own.profile())
	assert.Error(t, err)
	assert.Error(t, b.Prepare(t.Context(), own.profile()))
}
