package docker

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

// waitsFor is an init that says that it waits, answers when it is asked, and then does as another with its call.
func waitsFor(then func(Invocation) int) func(Invocation) int {
	return func(i Invocation) int {
		for {
			_, _ = i.Stdout.Write(frame.Append(nil, frame.Here, nil))
			t, data, err := frame.Read(i.Stdin, nil)
			if err != nil {
				return 2
			}
			if t == frame.Request {
				i.Stdin = &prefixed{frame.Append(nil, frame.Request, data)}
				return then(i)
			}
		}
	}
}

// prefixed is what was read already.
type prefixed struct{ data []byte }

func (p *prefixed) Read(b []byte) (int, error) {
	n := copy(b, p.data)
	p.data = p.data[n:]
	return n, nil
}

func armFake(t *testing.T, f *fakeEngine, p sandbox.ContainerProfile, n int) *Backend {
	t.Helper()
	b := openFake(t, f)
	require.NoError(t, b.Arm(t.Context(), p, sandbox.Arming{Count: n}))
	require.Equal(t, ArmedStats{Ready: n}, b.ArmedStats())
	return b
}

func count(list []string, word string) int {
	n := 0
	for _, s := range list {
		if s == word {
			n++
		}
	}
	return n
}

// A call takes what stands ready: nothing is made for it, and another takes its place.
func TestArmed(t *testing.T) {
	f := newFake()
	f.init = waitsFor(exitsWith(3))
	b := armFake(t, f, sandbox.ContainerProfile{}, 2)
	assert.Equal(t, 2, count(f.verbs(), "create"))
	p := sandbox.ContainerProfile{Env: []string{"X=1"}, Workdir: "/usr", Limits: sandbox.Limits{Wall: time.Second, OutputKB: 1}, Mounts: []string{}}
	res, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"prog"}, ID: "mine"})
	require.NoError(t, err)
	assert.Equal(t, "prog\n", string(res.Stdout))
	assert.Equal(t, 3, res.ExitCode)
	assert.Equal(t, "mine", res.ID)
	assert.True(t, res.Enforcement.Enforced(sandbox.LifeNoSurvivors))
	require.Eventually(t, func() bool { return b.ArmedStats() == ArmedStats{Ready: 2, Served: 1} }, 20*time.Second, time.Millisecond)
	assert.Equal(t, 3, count(f.verbs(), "create"))
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{PIDs: 7}, program("x"))
	require.NoError(t, err)
	assert.Equal(t, 1, b.ArmedStats().Served, "another profile")
}

// What would be made otherwise by now, and what does not answer, is given up, and the call gets a container of its own.
func TestArmedDoesNotFit(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, f *fakeEngine, dir string){
		"the image": func(_ *testing.T, f *fakeEngine, _ string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.image = `[{"Id":"sha256:2","Config":{}}]`
			f.lie = func(m map[string]any) { m["Image"] = "sha256:2" }
		},
		"a mount's source": func(t *testing.T, _ *fakeEngine, dir string) {
			require.NoError(t, os.Rename(dir, dir+".old"))
			require.NoError(t, os.Mkdir(dir, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.init = waitsFor(exitsWith(0))
			dir := filepath.Join(t.TempDir(), "dir")
			require.NoError(t, os.Mkdir(dir, 0o755))
			p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/x"}}}
			b := armFake(t, f, p, 1)
			change(t, f, dir)
			_, err := b.Run(t.Context(), p, program("x"))
			require.NoError(t, err)
			s := b.ArmedStats()
			assert.Equal(t, [2]int{0, 1}, [2]int{s.Served, s.Missed})
		})
	}
}

// A container that has ended, or no longer answers, gets no call.
func TestArmedDead(t *testing.T) {
	var made atomic.Int64
	f := newFake()
	later := waitsFor(exitsWith(0))
	f.init = func(i Invocation) int {
		if made.Add(1) > 1 {
			return later(i)
		}
		_, _ = i.Stdout.Write(frame.Append(nil, frame.Here, nil))
		_, _, _ = frame.Read(i.Stdin, nil)
		return 137
	}
	b := armFake(t, f, sandbox.ContainerProfile{}, 1)
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	assert.Zero(t, b.ArmedStats().Served)
	assert.True(t, slices.Contains(f.verbs(), "rm"))
}

// Nothing is armed after an error, which is the one that a call would get.
func TestArmRefusals(t *testing.T) {
	f := newFake()
	f.init = waitsFor(exitsWith(0))
	b := openFake(t, f)
	arm := func(p sandbox.ContainerProfile, a sandbox.Arming) error { return b.Arm(t.Context(), p, a) }
	var typed *sandbox.Error
	require.ErrorAs(t, arm(sandbox.ContainerProfile{}, sandbox.Arming{Count: 1, Interpreter: sandbox.InterpreterPython}), &typed)
	assert.Equal(t, sandbox.KindInvalid, typed.Kind)
	assert.Equal(t, "arm without an interpreter", typed.Fix)
	assert.ErrorIs(t, arm(sandbox.ContainerProfile{}, sandbox.Arming{Count: maxArmed + 1}), sandbox.ErrInvalid)
	assert.ErrorIs(t, arm(sandbox.ContainerProfile{PIDs: -1}, sandbox.Arming{Count: 1}), sandbox.ErrInvalid)
	assert.ErrorIs(t, arm(sandbox.ContainerProfile{Runtime: "kata"}, sandbox.Arming{Count: 1}), sandbox.ErrUnavailable)
	f.lie = func(m map[string]any) { m["HostConfig"].(map[string]any)["ReadonlyRootfs"] = false }
	assert.ErrorIs(t, arm(sandbox.ContainerProfile{}, sandbox.Arming{Count: 1}), sandbox.ErrRefused)
	f.lie, f.init = nil, func(Invocation) int { return 1 }
	assert.Error(t, arm(sandbox.ContainerProfile{}, sandbox.Arming{Count: 1}))
	assert.NoError(t, arm(sandbox.ContainerProfile{}, sandbox.Arming{}))
	assert.Equal(t, ArmedStats{}, b.ArmedStats())
}

// A call that is refused before anything is made takes nothing that stands ready.
func TestArmedKeptForCalls(t *testing.T) {
	f := newFake()
	f.init = waitsFor(exitsWith(0))
	b := armFake(t, f, sandbox.ContainerProfile{}, 1)
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{Require: []sandbox.Guarantee{sandbox.KernelLandlock}}, program("x"))
	require.Error(t, err)
	assert.Equal(t, ArmedStats{Ready: 1}, b.ArmedStats())
	require.NoError(t, b.Close())
	assert.Equal(t, 1, count(f.verbs(), "rm"))
	assert.ErrorIs(t, b.Arm(t.Context(), sandbox.ContainerProfile{}, sandbox.Arming{Count: 1}), sandbox.ErrUnavailable)
}
