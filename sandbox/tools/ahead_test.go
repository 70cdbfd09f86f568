package tools_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// armer is a fake backend that can have sandboxes stand ready, and counts for which directories they do.
type armer struct {
	*fake.Backend
	refuse func(sandbox.Arming) error

	mu    sync.Mutex
	asked []sandbox.Arming
	ready map[string]int // by the source of the last mount
}

func newArmer(handler func(fake.Call) fake.Reply) *armer {
	return &armer{Backend: &fake.Backend{Handler: handler}, ready: map[string]int{}}
}

func key(p sandbox.ContainerProfile) string {
	if len(p.Binds) == 0 {
		return ""
	}
	return p.Binds[len(p.Binds)-1].Source
}

func (a *armer) Arm(_ context.Context, p sandbox.ContainerProfile, arming sandbox.Arming) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, arming)
	if arming.Count <= 0 {
		delete(a.ready, key(p))
		return nil
	}
	if a.refuse != nil {
		if err := a.refuse(arming); err != nil {
			return err
		}
	}
	a.ready[key(p)] = arming.Count
	return nil
}

func (a *armer) standing() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, count := range a.ready {
		n += count
	}
	return n
}

func (a *armer) armings() []sandbox.Arming {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]sandbox.Arming(nil), a.asked...)
}

// ahead are tools that keep n sandboxes ready for each sort of call.
func ahead(t *testing.T, a *armer, n int) tools.Tools {
	t.Helper()
	ts := set(t, a)
	ts.Ahead = tools.NewAhead(tools.Keep{Count: n})
	t.Cleanup(func() {
		require.NoError(t, ts.Ahead.Close())
		assert.Zero(t, a.standing(), "nothing stands ready any more")
		assert.Empty(t, names(t, ts.TempDir), "nothing is left")
	})
	return ts
}

func stands(t *testing.T, a *armer, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return a.standing() == n }, 20*time.Second, time.Millisecond, "%d stand ready", a.standing())
}

// A call gets the directories that stand ready for it, with its own code in them, and what takes their place has others.
func TestAheadStages(t *testing.T) {
	var a *armer
	var served []bool
	a = newArmer(func(c fake.Call) fake.Reply {
		a.mu.Lock()
		_, ready := a.ready[key(c.Profile)]
		a.mu.Unlock()
		served = append(served, ready)
		code, err := os.ReadFile(filepath.Join(c.Profile.Binds[0].Source, "main.py"))
		if err != nil {
			return fake.Reply{Err: err}
		}
		return fake.Exit(0, string(code), "")
	})
	ts := ahead(t, a, 2)
	for i := range 4 {
		code := "print(" + strconv.Itoa(i) + ")"
		r, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "py", Code: code})
		require.NoError(t, err)
		assert.Equal(t, code, string(r.Result.Stdout))
		stands(t, a, 2)
	}
	assert.Equal(t, []bool{false, true, true, true}, served)
	for _, arming := range a.armings() {
		if arming.Count > 0 {
			assert.True(t, arming.Once)
			assert.Equal(t, sandbox.InterpreterPython, arming.Interpreter)
			assert.Equal(t, []string{"python3", "/code/main.py"}, arming.Like.Argv)
			assert.Equal(t, "/output", arming.Like.Dir)
			assert.Nil(t, arming.Like.Stdin)
			assert.NotContains(t, arming.Like.Env, "A=1")
		}
	}
}

// An interpreter that cannot wait is left out, and a backend that makes nothing ready costs no call anything.
func TestAheadRefused(t *testing.T) {
	a := newArmer(func(fake.Call) fake.Reply { return fake.Exit(0, "", "") })
	a.refuse = func(arming sandbox.Arming) error {
		if arming.Interpreter != sandbox.InterpreterNone {
			return sandbox.Invalid("arm", "it does not wait")
		}
		return nil
	}
	ts := ahead(t, a, 1)
	_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "node", Code: "0"})
	require.NoError(t, err)
	stands(t, a, 1)

	b := newArmer(func(fake.Call) fake.Reply { return fake.Exit(0, "", "") })
	b.refuse = func(sandbox.Arming) error { return errors.New("no room") }
	ts = ahead(t, b, 1)
	for range 5 {
		_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "node", Code: "0"})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(b.armings()) > 0 }, 20*time.Second, time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	assert.Less(t, len(b.armings()), 5, "after a failure there is a pause")
}

// What a waiting Python has imported, and whether it is pinned, is asked for as it was told, for Python alone; a module that
// is missing costs that and no more.
func TestAheadPreloads(t *testing.T) {
	keep := tools.Keep{Count: 1, Preload: []string{"json", "numpy"}, Pin: true}
	made := func(language string, refuse func(sandbox.Arming) error) []sandbox.Arming {
		a := newArmer(func(fake.Call) fake.Reply { return fake.Exit(0, "", "") })
		a.refuse = refuse
		ts := set(t, a)
		ts.Ahead = tools.NewAhead(keep)
		_, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: language, Code: "0"})
		require.NoError(t, err)
		stands(t, a, 1)
		require.NoError(t, ts.Ahead.Close())
		return a.armings()
	}
	all := made("python", nil)
	assert.Equal(t, keep.Preload, all[0].Preload)
	assert.True(t, all[0].Pin)
	all = made("node", nil)
	assert.Empty(t, all[0].Preload)
	assert.False(t, all[0].Pin)

	all = made("python", func(arming sandbox.Arming) error {
		if len(arming.Preload) > 0 {
			return sandbox.Invalid("arm", "no module named numpy")
		}
		return nil
	})
	require.GreaterOrEqual(t, len(all), 2)
	assert.Equal(t, sandbox.InterpreterPython, all[1].Interpreter)
	assert.Empty(t, all[1].Preload)
}

// What stands ready is bounded, however many sorts of call there are: each of these programs is one.
func TestAheadBounded(t *testing.T) {
	a := newArmer(func(fake.Call) fake.Reply { return fake.Exit(0, "", "") })
	ts := ahead(t, a, 1)
	dir := t.TempDir()
	for i := range 40 {
		tool := filepath.Join(dir, strconv.Itoa(i))
		require.NoError(t, os.Mkdir(tool, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tool, "t.py"), []byte("def f(): pass"), 0o644))
		_, err := ts.PythonFile(t.Context(), tools.FileArgs{PythonCall: tools.PythonCall{Name: "f"}, File: filepath.Join(tool, "t.py")})
		require.NoError(t, err)
	}
	stands(t, a, 16)
	for _, arming := range a.armings() {
		assert.False(t, arming.Once, "its mounts are no single call's")
	}
}

// Calls at the same time never get the same directories.
func TestAheadTogether(t *testing.T) {
	var mu sync.Mutex
	running := map[string]bool{}
	a := newArmer(func(c fake.Call) fake.Reply {
		source := key(c.Profile)
		mu.Lock()
		twice := running[source]
		running[source] = true
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		delete(running, source)
		mu.Unlock()
		if twice {
			return fake.Reply{Err: errors.New("two calls at once in " + source)}
		}
		return fake.Exit(0, "", "")
	})
	ts := ahead(t, a, 2)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				_, err := ts.RunCode(context.Background(), tools.CodeArgs{Language: "bash", Code: "true"})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
}
