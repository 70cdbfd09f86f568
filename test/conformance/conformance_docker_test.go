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
	"github.com/soulacy/toolcell/test/armed"
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

// inShort are the groups of a short run, which is on docker alone. They leave out output, deadlines, limits, survivors,
// mounts, refusals, concurrency and leaks, which the backend's own tests try there always, and on the other engines too where
// commands differ.
var inShort = []string{"results", "stdin", "environment", "identity", "process", "devices", "proc", "owners", "closing"}

// TestEngines runs the suite on the container engines, whole in a long run.
func TestEngines(t *testing.T) {
	for _, k := range engines.Among(engines.Docker, engines.Podman, engines.Nerdctl) {
		t.Run(string(k), func(t *testing.T) {
			e, only := pool.Start(t, k), inShort
			if engines.Long() {
				only = nil
			}
			s := containers(e, docker.Config{Helper: dockerHelper(t), Image: e.Load(t, engines.Python())})
			s.Only = only
			conformance.Run(t, s)
		})
	}
}

// TestEnginesArmed runs the suite on docker's containers that were started before their calls: a long test.
func TestEnginesArmed(t *testing.T) {
	if !engines.Long() {
		t.Skip("a long test: TOOLCELL_TEST_LONG=1")
	}
	e := pool.Start(t, engines.Docker)
	s := containers(e, docker.Config{Helper: dockerHelper(t), Image: e.Load(t, engines.Python())})
	cold := s.Open
	var opened []*armed.Backend
	s.Only, s.Open = inShort, func(t *testing.T) sandbox.Backend {
		d := cold(t).(*docker.Backend)
		b := &armed.Backend{Armer: d, Found: func() int { return d.ArmedStats().Served }}
		opened = append(opened, b)
		return b
	}
	conformance.Run(t, s)
	countServed(t, opened)
}

// TestRunsc runs a part of the suite under gVisor, whose kernel is another one. A start takes seconds there, so it is a
// long test; the backend's own tests make some calls under it always.
func TestRunsc(t *testing.T) {
	if !engines.Long() {
		t.Skip("a long test: TOOLCELL_TEST_LONG=1")
	}
	e := pool.Start(t, engines.Docker)
	e.RequireRunsc(t)
	c := docker.Config{Helper: dockerHelper(t), Image: e.Load(t, engines.Python()), Runtime: engines.RunscRuntime}
	s := containers(e, c)
	s.OtherKernel, s.Only = true, []string{"deadlines", "survivors"}
	conformance.Run(t, s)
}

// containers is the suite for an engine, with what is otherwise there by design: ids are the host's, an engine takes no
// path that is not text, gives its containers no IPv6, and masks what its own list has.
func containers(e *engines.Engine, c docker.Config) conformance.Suite {
	return conformance.Suite{
		Open:    func(t *testing.T) sandbox.Backend { return openDocker(t, e, c) },
		HostIDs: true, Slow: true, TextPaths: true, NoIPv6: true, LeastMemoryMB: 6,
		Unmasked: []string{"/proc/interrupts"},
	}
}
