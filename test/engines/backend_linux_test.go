package engines_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// helperPackage is the program that is init inside.
const helperPackage = "github.com/soulacy/toolcell/backends/docker/testdata/helper"

// probeTimeout is how long the engine may take to answer: the machine runs other tests beside.
const probeTimeout = 30 * time.Second

// open opens the docker backend on an engine, with its defaults.
func open(t *testing.T, e *engines.Engine) *docker.Backend {
	t.Helper()
	return openWith(t, e, docker.Config{Image: e.Load(t, engines.Busybox()), Helper: conformance.Build(t, helperPackage)})
}

func openWith(t *testing.T, e *engines.Engine, c docker.Config) *docker.Backend {
	t.Helper()
	e.Setenv(t)
	c.Binary, c.ProbeTimeout = e.Binary, probeTimeout
	b, err := docker.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

func sh(script string) sandbox.Command {
	return sandbox.Command{Argv: []string{"/bin/sh", "-c", script}}
}

// onBackends runs test on docker and, in a long run, on podman.
func onBackends(t *testing.T, test func(*testing.T, *engines.Engine)) {
	for _, k := range engines.Among(engines.Docker, engines.Podman) {
		t.Run(string(k), func(t *testing.T) { test(t, pool.Start(t, k)) })
	}
}

// workspace returns a directory that belongs to whom a root caller's program is, and a profile that shows it, writable.
func workspace(t *testing.T) (string, sandbox.ContainerProfile) {
	dir, err := os.MkdirTemp("", "toolcell-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, 65532, 65532))
	return dir, sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}}
}

// state is what an engine has: containers, volumes.
func state(t *testing.T, e *engines.Engine) string {
	t.Helper()
	return run(t, e, "ps", "--all", "--quiet").out + "volumes " + run(t, e, "volume", "ls", "--quiet").out
}

// An image that is removed between Prepare and Run refuses, and nothing is fetched in its place.
func TestImageRemoved(t *testing.T) {
	onBackends(t, func(t *testing.T, e *engines.Engine) {
		b := open(t, e)
		p := sandbox.ContainerProfile{Image: e.Load(t, engines.OnBuild())}
		require.NoError(t, b.Prepare(t.Context(), p))
		_, err := b.Run(t.Context(), p, sh("true"))
		require.NoError(t, err)
		before := state(t, e)
		require.Zero(t, run(t, e, "rmi", "--force", p.Image).code)
		_, err = b.Run(t.Context(), p, sh("true"))
		require.Error(t, err)
		assert.ErrorIs(t, err, sandbox.ErrUnavailable)
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		assert.NotEmpty(t, typed.Fix)
		assert.Equal(t, before, state(t, e))
		e.Reload(t, engines.OnBuild())
		_, err = b.Run(t.Context(), p, sh("true"))
		assert.NoError(t, err, "it is asked again")
	})
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
