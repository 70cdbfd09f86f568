//go:build linux

package escape

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// pool holds the container engines of this binary.
var pool engines.Pool

// TestMain lets this binary be the docker backend's watchdog, and stops the engines in the end.
func TestMain(m *testing.M) {
	helper.Main()
	os.Exit(pool.Main(m))
}

// TestEscapeFromEngines makes every attempt from containers; in a short run docker's alone, and those that can share one.
func TestEscapeFromEngines(t *testing.T) {
	for _, k := range engines.Among(engines.Docker, engines.Podman) {
		t.Run(string(k), func(t *testing.T) {
			e := pool.Start(t, k)
			e.Setenv(t)
			const nobody = 65532 // who a root caller's program is
			h := &harness{
				helper:  conformance.Build(t, "github.com/soulacy/toolcell/test/escape/attempt"),
				spawner: conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper"),
				image:   e.Load(t, engines.Python()), owner: nobody, together: true, brief: !engines.Long(),
			}
			h.careless(t)
			b, err := docker.Open(t.Context(), docker.Config{
				Binary: e.Binary, Helper: h.spawner, Image: h.image, Protected: []string{h.protected}, ProbeTimeout: 30 * time.Second,
			})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, b.Close()) })
			h.b = b
			h.sums = h.programs(t)
			h.attempts(t)
		})
	}
}
