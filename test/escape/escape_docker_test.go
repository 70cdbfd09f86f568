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
	"github.com/soulacy/toolcell/test/armed"
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
			h := containers(t, e)
			h.brief = !engines.Long()
			h.attempts(t)
		})
	}
}

// TestEscapeFromArmedContainers makes every attempt from docker's containers that were started before their program came: a
// long test.
func TestEscapeFromArmedContainers(t *testing.T) {
	if !engines.Long() {
		t.Skip("a long test: TOOLCELL_TEST_LONG=1")
	}
	e := pool.Start(t, engines.Docker)
	e.Setenv(t)
	h := containers(t, e)
	d := h.b.(*docker.Backend)
	b := &armed.Backend{Armer: d, Found: func() int { return d.ArmedStats().Served }}
	h.b, h.brief = b, true
	h.attempts(t)
	ready, found := b.Served()
	t.Logf("%d calls had a container started ahead, %d found one", ready, found)
	assert.Greater(t, found, ready*3/4)
	assert.GreaterOrEqual(t, found, 4)
}

// containers is what attempts need that are made from an engine's containers.
func containers(t *testing.T, e *engines.Engine) *harness {
	const nobody = 65532 // who a root caller's program is
	h := &harness{
		helper:  conformance.Build(t, "github.com/soulacy/toolcell/test/escape/attempt"),
		spawner: conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper"),
		image:   e.Load(t, engines.Python()), owner: nobody, together: true,
	}
	h.careless(t)
	b, err := docker.Open(t.Context(), docker.Config{
		Binary: e.Binary, Helper: h.spawner, Image: h.image, Protected: []string{h.protected}, ProbeTimeout: 30 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	h.b = b
	h.sums = h.programs(t)
	return h
}
