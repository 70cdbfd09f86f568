package engines_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// An ordinary user's podman runs containers. Where it has no cgroup controllers it ignores limits with a warning; the
// backend refuses then, and names what is missing and the fix.
func TestRootless(t *testing.T) {
	program := func() string { return conformance.Build(t, helperPackage) }
	engines.Rootless(t, program, func(t *testing.T, e *engines.Engine, helper string) {
		image := e.Load(t, engines.Busybox())
		r := run(t, e, with(append(plain(), "--memory", "64m"), image, "sh", "-c", bomb)...)
		require.Zero(t, r.code, "a container runs: %+v", r)
		b := openWith(t, e, docker.Config{Image: image, Helper: helper})
		_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sh("echo ran"))
		if !strings.Contains(r.out, "code 0") {
			require.NoError(t, err, "limits bind here")
			return
		}
		require.ErrorIs(t, err, sandbox.ErrRefused)
		var typed *sandbox.Error
		require.ErrorAs(t, err, &typed)
		assert.Contains(t, []sandbox.Guarantee{sandbox.LimitMemory, sandbox.LimitProcesses, sandbox.LimitCPU}, typed.Guarantee)
		assert.NotEmpty(t, typed.Fix)

		c := docker.Config{Image: image, Helper: helper}
		for _, g := range []sandbox.Guarantee{sandbox.LimitMemory, sandbox.LimitProcesses, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g, Reason: "this user has no cgroup of its own"})
		}
		res, err := openWith(t, e, c).Run(t.Context(), sandbox.ContainerProfile{}, sh("id -u"))
		require.NoError(t, err)
		assert.Equal(t, "61234\n", string(res.Stdout), "stderr: %s", res.Stderr)
	})
}
