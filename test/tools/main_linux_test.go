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
// container engines where they are switched on, in a long run on nerdctl, too.
func onBackends(t *testing.T, test func(*testing.T, place)) {
	on(t, test, engines.Docker, engines.Podman)
	if engines.Long() {
		onEngines(t, test, engines.Nerdctl)
	}
}

// onAll does so under gVisor, too, in a long run. It is for tools whose programs see the workspace or a tool's directory.
func onAll(t *testing.T, test func(*testing.T, place)) {
	onBackends(t, test)
	onRunsc(t, test, sandbox.ContainerProfile{})
}

// onAllForCode is onAll for run_code. Under gVisor the operator lets programs on the scratch run: its kernel lacks Landlock,
// which forbids it in the directory that run_code has of its own.
func onAllForCode(t *testing.T, test func(*testing.T, place)) {
	onBackends(t, test)
	onRunsc(t, test, sandbox.ContainerProfile{ScratchExec: true})
}

func onRunsc(t *testing.T, test func(*testing.T, place), p sandbox.ContainerProfile) {
	if engines.Long() {
		t.Run("runsc", func(t *testing.T) { test(t, place{Backend: openRunsc(t), Profile: p}) })
	}
}

// onKinds runs test on one place of each kind, for what engines do alike.
func onKinds(t *testing.T, test func(*testing.T, place)) { on(t, test, engines.Docker) }

// on runs test on the native backend, on the host under resource limits, and on engines.
func on(t *testing.T, test func(*testing.T, place), kinds ...engines.Kind) {
	t.Run("native", func(t *testing.T) { test(t, place{Backend: openNative(t)}) })
	t.Run("limits", func(t *testing.T) {
		b, err := host.Open(host.Config{Mode: host.Limits})
		require.NoError(t, err)
		closing(t, b)
		test(t, place{Backend: b, OnHost: true})
	})
	onEngines(t, test, kinds...)
}

func onEngines(t *testing.T, test func(*testing.T, place), kinds ...engines.Kind) {
	for _, k := range kinds {
		t.Run(string(k), func(t *testing.T) { test(t, place{Backend: openEngine(t, pool.Start(t, k), docker.Config{})}) })
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

func openRunsc(t *testing.T) sandbox.Backend {
	t.Helper()
	e := pool.Start(t, engines.Docker)
	e.RequireRunsc(t)
	return openEngine(t, e, docker.Config{Runtime: engines.RunscRuntime})
}

func openEngine(t *testing.T, e *engines.Engine, c docker.Config) sandbox.Backend {
	t.Helper()
	e.Setenv(t)
	c.Binary, c.Image, c.ProbeTimeout, c.Helper = e.Binary, e.Load(t, engines.Languages()), time.Minute, helperProgram(t)
	b, err := docker.Open(t.Context(), c)
	require.NoError(t, err)
	closing(t, b)
	return b
}

// helperProgram is what is init inside a container.
func helperProgram(t *testing.T) string {
	return conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper")
}

func closing(t *testing.T, b sandbox.Backend) {
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
}
