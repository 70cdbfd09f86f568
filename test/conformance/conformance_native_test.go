//go:build linux

package conformance_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/armed"
	"github.com/soulacy/toolcell/test/conformance"
)

// cgroupBound are the guarantees that only cgroup controllers keep.
var cgroupBound = []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU}

// open opens the backend.
func open(t *testing.T, c native.Config) sandbox.Backend {
	b, err := backends.OpenBackend(t.Context(), native.Name, backends.Config{Native: c})
	require.NoError(t, err)
	return b
}

// waived returns the configuration of an operator who does without the named guarantees.
func waived(spawner string, gs []sandbox.Guarantee) native.Config {
	c := native.Config{Spawner: spawner}
	for _, g := range gs {
		c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g, Reason: "this user has no cgroup of its own"})
	}
	return c
}

// spawner builds the spawner.
func spawner(t *testing.T) string {
	return conformance.Build(t, "github.com/soulacy/toolcell/cmd/toolcell-init")
}

// TestNative runs the suite with every guarantee: as root, another user's directories included, or as an ordinary user
// who has a cgroup of its own.
func TestNative(t *testing.T) {
	c := native.Config{Spawner: spawner(t)}
	if os.Geteuid() != 0 && !complete(t, c) {
		conformance.Skip(t, "needs root or a delegated cgroup; TestNativeAsOrdinaryUser covers what does not")
	}
	conformance.Run(t, conformance.Suite{
		Open: func(t *testing.T) sandbox.Backend { return open(t, c) }, ForeignOwners: os.Geteuid() == 0,
	})
}

// TestNativeArmed runs the suite on sandboxes that were built before their calls.
func TestNativeArmed(t *testing.T) {
	var only []string
	if os.Getenv("TOOLCELL_TEST_LONG") != "1" { // TestNative has shown the rest on the same sandboxes but for how they get their program
		only = []string{"results", "stdin", "environment", "process"}
	}
	nativeArmed(t, "", only)
}

// TestNativeArmedPython runs the suite on sandboxes in which a Python waited for the call, and becomes its program. What its
// start takes of a call's limits is left out.
func TestNativeArmedPython(t *testing.T) {
	only := []string{"results", "stdin", "environment", "process"}
	if os.Getenv("TOOLCELL_TEST_LONG") == "1" {
		only = append(only, "output", "deadlines", "identity", "devices", "proc", "survivors", "mounts", "owners", "closing")
	}
	nativeArmed(t, "/usr/bin/python3", only)
}

func nativeArmed(t *testing.T, python string, only []string) {
	c := native.Config{Spawner: spawner(t)}
	if os.Geteuid() != 0 && !complete(t, c) {
		conformance.Skip(t, "needs root or a delegated cgroup")
	}
	var opened []*armed.Backend
	conformance.Run(t, conformance.Suite{ForeignOwners: os.Geteuid() == 0, Only: only, Open: func(t *testing.T) sandbox.Backend {
		n := open(t, c).(*native.Backend)
		b := &armed.Backend{Armer: n, Found: func() int { return n.ArmedStats().Served }, Python: python}
		opened = append(opened, b)
		return b
	}})
	countServed(t, opened)
}

// countServed fails unless most of the calls for which something stood ready found it.
func countServed(t *testing.T, opened []*armed.Backend) {
	t.Helper()
	var ready, found int
	for _, b := range opened {
		r, f := b.Served()
		ready, found = ready+r, found+f
	}
	t.Logf("%d calls had a sandbox built ahead, %d found one", ready, found)
	assert.Greater(t, found, ready*3/4, "the rest were made at the same time")
	assert.Greater(t, found, 50)
}

// TestNativeNamespacesAhead runs the suite on sandboxes some of whose namespaces were made after the call before.
func TestNativeNamespacesAhead(t *testing.T) {
	c := native.Config{Spawner: spawner(t), NamespacesAhead: true}
	if os.Geteuid() != 0 && !complete(t, c) {
		conformance.Skip(t, "needs root or a delegated cgroup; TestNativeAsOrdinaryUser covers what does not")
	}
	s := conformance.Suite{ForeignOwners: os.Geteuid() == 0, Open: func(t *testing.T) sandbox.Backend { return open(t, c) }}
	if os.Getenv("TOOLCELL_TEST_LONG") != "1" {
		s.Only = []string{"results", "identity", "process", "devices", "proc"}
	}
	conformance.Run(t, s)
}

// complete reports whether every guarantee holds here.
func complete(t *testing.T, c native.Config) bool {
	b := open(t, c)
	defer func() { assert.NoError(t, b.Close()) }()
	_, err := b.Ready(t.Context(), sandbox.ContainerProfile{})
	return err == nil
}

// TestNativeAsOrdinaryUser runs the suite as an ordinary user without a cgroup: everything that needs no controller holds
// for that user too, and without the operator's waivers the call is refused with the fix.
func TestNativeAsOrdinaryUser(t *testing.T) {
	programs := []string{"probe", "toolcell-init"}
	if !conformance.IsUserPart() {
		programs = []string{conformance.BuildProbe(t), spawner(t)}
	}
	conformance.AsUser(t, programs, func(t *testing.T, programs []string) {
		t.Run("without waivers", func(t *testing.T) { refusedWithFix(t, programs[1]) })
		c := waived(programs[1], cgroupBound)
		c.NamespacesAhead = true // root's calls are made both ways
		conformance.Run(t, conformance.Suite{
			Open:  func(t *testing.T) sandbox.Backend { return open(t, c) },
			Probe: programs[0], Waived: cgroupBound,
		})
	})
}

// refusedWithFix: what the user's host cannot bound refuses the call, names the guarantee and says what to do; everything
// else is enforced.
func refusedWithFix(t *testing.T, spawner string) {
	b := open(t, native.Config{Spawner: spawner})
	defer func() { assert.NoError(t, b.Close()) }()
	report, err := b.Ready(t.Context(), sandbox.ContainerProfile{})
	if report.Enforced(sandbox.LimitProcesses) && err == nil {
		conformance.Skip(t, "this user has a delegated cgroup")
	}
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	assert.Contains(t, cgroupBound, typed.Guarantee)
	assert.NotEmpty(t, typed.Fix)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	for _, line := range report {
		if !slices.Contains(append([]sandbox.Guarantee{sandbox.IPCNoHostSockets}, cgroupBound...), line.Guarantee) {
			assert.True(t, line.Enforced, "%s needs no cgroup: %s", line.Guarantee, line.Reason)
		}
	}
}

// TestNativeProtectedPaths: what the operator protects is no mount source, nor is anything above or below it.
func TestNativeProtectedPaths(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "etc", "gateway.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o755))
	require.NoError(t, os.WriteFile(config, []byte("runtime: {}\n"), 0o600))
	require.NoError(t, os.Symlink(filepath.Dir(config), filepath.Join(dir, "link")))
	c := native.Config{Spawner: spawner(t), Protected: []string{config}}
	if os.Geteuid() != 0 {
		c.Waivers = waived("", cgroupBound).Waivers
	}
	b := open(t, c)
	defer func() { assert.NoError(t, b.Close()) }()
	for _, source := range []string{config, filepath.Dir(config), dir, filepath.Join(dir, "link")} {
		p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: source, Target: "/data"}}}
		_, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"true"}})
		require.Error(t, err, "%s", source)
		assert.True(t, conformance.IsRefusal(err), "%v", err)
	}
}

// TestNativeWaiversComeFromConfigurationAlone: no variable of the environment turns a guarantee off.
func TestNativeWaiversComeFromConfigurationAlone(t *testing.T) {
	for _, name := range []string{"TOOLCELL_WAIVE", "TOOLCELL_UNSANDBOXED", "TOOLCELL_MODE", "TOOLCELL_ENABLED"} {
		t.Setenv(name, "limit.memory,limit.processes,limit.cpu,unsandboxed,false")
	}
	b := open(t, native.Config{Spawner: spawner(t)})
	defer func() { assert.NoError(t, b.Close()) }()
	report, err := b.Ready(t.Context(), sandbox.ContainerProfile{})
	if os.Geteuid() == 0 {
		require.NoError(t, err)
	}
	for _, line := range report {
		assert.False(t, line.Waived, "%s", line.Guarantee)
	}
}
