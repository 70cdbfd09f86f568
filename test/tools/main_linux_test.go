package tools_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// pool holds the container engines of this binary.
var pool engines.Pool

// TestMain lets this binary be the native backend's spawner, the host's supervisor and docker's watchdog.
func TestMain(m *testing.M) {
	spawner.Main()
	host.Main()
	helper.Main()
	os.Exit(pool.Main(m))
}

// place is where everything runs: the least of a chooser, for one place.
type place tools.Place

func (p place) Choose(context.Context, tools.Request) (tools.Place, error) {
	return tools.Place(p), nil
}

// toolsAt makes tools that run everything at p.
func toolsAt(t *testing.T, p place) tools.Tools {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return tools.Tools{Chooser: p, TempDir: dir}
}

// onBackends runs test everywhere that code can run: on the native backend always, on the host under resource limits, and on
// container engines where they are switched on.
func onBackends(t *testing.T, test func(*testing.T, place)) {
	on(t, test, engines.Docker, engines.Podman)
}

// onKinds does so on one engine, for what no engine has to do with.
func onKinds(t *testing.T, test func(*testing.T, place)) { on(t, test, engines.Docker) }

func on(t *testing.T, test func(*testing.T, place), kinds ...engines.Kind) {
	t.Run("native", func(t *testing.T) { test(t, place{Backend: openNative(t)}) })
	t.Run("limits", func(t *testing.T) {
		b, err := host.Open(host.Config{Mode: host.Limits})
		require.NoError(t, err)
		closing(t, b)
		test(t, place{Backend: b, OnHost: true})
	})
	for _, k := range kinds {
		t.Run(string(k), func(t *testing.T) { test(t, place{Backend: openEngine(t, k)}) })
	}
}

func openNative(t *testing.T) sandbox.Backend {
	t.Helper()
	b, err := native.Open(t.Context(), native.Config{})
	if err == nil {
		closing(t, b)
		_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	}
	if err != nil {
		conformance.Skip(t, "this host cannot keep every guarantee: "+err.Error())
	}
	return b
}

func openEngine(t *testing.T, k engines.Kind) sandbox.Backend {
	t.Helper()
	e := pool.Start(t, k)
	e.Setenv(t)
	b, err := docker.Open(t.Context(), docker.Config{
		Binary: e.Binary, Image: e.Load(t, engines.Python()), ProbeTimeout: time.Minute,
		Helper: conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper"),
	})
	require.NoError(t, err)
	closing(t, b)
	return b
}

func closing(t *testing.T, b sandbox.Backend) {
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
}
