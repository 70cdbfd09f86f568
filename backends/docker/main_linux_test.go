package docker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/test/engines"
)

var pool engines.Pool

// TestMain makes this program its own helper on the host, and stops the engines at the end.
func TestMain(m *testing.M) {
	helper.Main()
	os.Exit(pool.Main(m))
}

// staticHelper builds the program that is init inside; it has to be static, which a test program is not. It is the engine's,
// and gone with it.
func staticHelper(t *testing.T, e *engines.Engine) string {
	t.Helper()
	out := filepath.Join(e.Dir, "helper")
	if _, err := os.Stat(out); err == nil {
		return out
	}
	build := exec.Command("go", "build", "-ldflags=-s", "-o", out, "./testdata/helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	msg, err := build.CombinedOutput()
	require.NoError(t, err, "%s", msg)
	return out
}

// kinds are the engines that the tests run on.
var kinds = []engines.Kind{engines.Docker, engines.Podman, engines.Nerdctl}

// real is a backend on a real engine.
type real struct {
	*Backend
	engine *engines.Engine
}

// each runs test with a backend on every engine.
func each(t *testing.T, test func(*testing.T, real)) { on(t, test, kinds...) }

// most is each for what depends little on an engine's command line: in a short run it is docker alone.
func most(t *testing.T, test func(*testing.T, real)) { on(t, test, engines.Among(kinds...)...) }

func on(t *testing.T, test func(*testing.T, real), kinds ...engines.Kind) {
	for _, k := range kinds {
		t.Run(string(k), func(t *testing.T) { test(t, openReal(t, k)) })
	}
}

func openReal(t *testing.T, k engines.Kind, change ...func(*Config)) real {
	t.Helper()
	e := pool.Start(t, k)
	e.Setenv(t)
	c := Config{Binary: e.Binary, Helper: staticHelper(t, e), Image: e.Load(t, engines.Busybox()), StateDir: t.TempDir(), ProbeTimeout: time.Minute}
	for _, do := range change {
		do(&c)
	}
	b, err := Open(t.Context(), c)
	require.NoError(t, err)
	r := real{b, e}
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
		r.nothingLeft(t)
	})
	return r
}

// nothingLeft asserts that the engine has no container of ours and no volume, and the state directory is empty.
func (r real) nothingLeft(t *testing.T) {
	t.Helper()
	assert.Empty(t, r.containers(t))
	assert.Empty(t, r.say(t, "volume", "ls", "-q"))
	left, err := os.ReadDir(r.config.StateDir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// containers are the names of the engine's containers that are of this backend.
func (r real) containers(t *testing.T) string {
	t.Helper()
	return r.say(t, "ps", "-a", "-q", "--filter", "label="+labelInstance+"="+r.owner.instance)
}

// say runs a command of the engine's and returns its output.
func (r real) say(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := r.engine.Command(ctx, args...).Output()
	require.NoError(t, err, "%q", args)
	return strings.TrimSpace(string(out))
}
