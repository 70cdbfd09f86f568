//go:build linux

package conformance_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// pool holds the container engines of this binary.
var pool engines.Pool

// TestMain lets this binary be the docker backend's helper, and stops the engines in the end.
func TestMain(m *testing.M) {
	helper.Main()
	os.Exit(pool.Main(m))
}

// openDocker opens the backend on an engine.
func openDocker(t *testing.T, e *engines.Engine, c docker.Config) sandbox.Backend {
	e.Setenv(t)
	c.Binary = e.Binary
	c.ProbeTimeout = 30 * time.Second // the machine runs other tests beside
	b, err := docker.Open(t.Context(), c)
	require.NoError(t, err)
	return b
}

// dockerHelper builds the helper.
func dockerHelper(t *testing.T) string {
	return conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper")
}

// TestEngines runs the suite on every container engine.
func TestEngines(t *testing.T) {
	for _, k := range []engines.Kind{engines.Docker, engines.Podman, engines.Nerdctl} {
		t.Run(string(k), func(t *testing.T) {
			e := pool.Start(t, k)
			c := docker.Config{Helper: dockerHelper(t), Image: e.Load(t, engines.Python())}
			conformance.Run(t, conformance.Suite{
				Open:    func(t *testing.T) sandbox.Backend { return openDocker(t, e, c) },
				HostIDs: true, Slow: true, TextPaths: true, NoIPv6: true,
				Unmasked: []string{"/proc/interrupts"}, LeastMemoryMB: 6,
			})
		})
	}
}
