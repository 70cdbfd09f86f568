//go:build linux

package conformance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
)

const spawnerPackage = "github.com/soulacy/toolcell/cmd/toolcell-init"

// Set for the part of this test that runs again as an ordinary user: where its programs are.
const childVariable = "TOOLCELL_TEST_ORDINARY_USER"

// cgroupBound are the guarantees that only cgroup controllers keep.
var cgroupBound = []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU}

// open returns an Open for the suite.
func open(spawner string, waive []sandbox.Guarantee) func(*testing.T) sandbox.Backend {
	return func(t *testing.T) sandbox.Backend {
		c := native.Config{Spawner: spawner}
		for _, g := range waive {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g, Reason: "this user has no cgroup of its own"})
		}
		b, err := backends.Open(t.Context(), native.Name, backends.Config{Native: c})
		require.NoError(t, err)
		return b
	}
}

// TestNative runs the suite as whoever runs the test; as root, another user's directories are part of it.
func TestNative(t *testing.T) {
	if os.Geteuid() != 0 {
		conformance.Skip(t, "needs root; TestNativeAsOrdinaryUser covers what does not")
	}
	conformance.Run(t, conformance.Suite{
		Open: open(conformance.Build(t, spawnerPackage), nil), ForeignOwners: true,
	})
}

// TestNativeAsOrdinaryUser runs the suite again as an ordinary user without a cgroup: everything that needs no
// controller holds for that user too, and without the operator's waivers the call is refused with the fix.
func TestNativeAsOrdinaryUser(t *testing.T) {
	if dir := os.Getenv(childVariable); dir != "" {
		ordinaryUser(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		ordinaryUser(t, "")
		return
	}
	probe, spawner := conformance.BuildProbe(t), conformance.Build(t, spawnerPackage)
	dir, err := os.MkdirTemp("", "toolcell-user-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	const uid = 65533 // not nobody: other programs of this machine may run as that
	for _, sub := range []string{"", "home", "tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
		require.NoError(t, os.Chown(filepath.Join(dir, sub), uid, uid))
	}
	self := filepath.Join(dir, "conformance.test")
	copyFile(t, "/proc/self/exe", self)
	copyFile(t, probe, filepath.Join(dir, "tmp", "probe"))
	copyFile(t, spawner, filepath.Join(dir, "tmp", "toolcell-init"))
	cmd := exec.Command(self, "-test.run=^TestNativeAsOrdinaryUser$", "-test.v", "-test.timeout=20m")
	cmd.Dir = dir
	cmd.Env = []string{
		childVariable + "=" + filepath.Join(dir, "tmp"), "HOME=" + filepath.Join(dir, "home"),
		"TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=" + os.Getenv("PATH"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err, "the suite as uid %d", uid)
}

// ordinaryUser is the part that runs without privileges. dir holds the programs; "" builds them.
func ordinaryUser(t *testing.T, dir string) {
	require.NotZero(t, os.Geteuid())
	s := conformance.Suite{Waived: cgroupBound}
	spawner := filepath.Join(dir, "toolcell-init")
	if dir == "" {
		spawner = conformance.Build(t, spawnerPackage)
	} else {
		s.Probe = filepath.Join(dir, "probe")
	}
	t.Run("without waivers", func(t *testing.T) { refusedWithFix(t, spawner) })
	s.Open = open(spawner, cgroupBound)
	conformance.Run(t, s)
}

// refusedWithFix: what the user's host cannot bound refuses the call, names the guarantee and says what to do.
func refusedWithFix(t *testing.T, spawner string) {
	b := open(spawner, nil)(t)
	defer func() { assert.NoError(t, b.Close()) }()
	report, err := b.Ready(t.Context(), sandbox.ContainerProfile{})
	if report.Enforced(sandbox.LimitProcesses) && err == nil {
		t.Log("this user has a delegated cgroup")
		return
	}
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	assert.Contains(t, cgroupBound, typed.Guarantee)
	assert.NotEmpty(t, typed.Fix)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	for _, g := range sandbox.Guarantees() {
		want := g != sandbox.LimitProcesses && g != sandbox.LimitMemory && g != sandbox.LimitCPU && g != sandbox.IPCNoHostSockets
		if want {
			assert.True(t, report.Enforced(g), "%s needs no cgroup: %s", g, report.Get(g).Reason)
		}
	}
}

// TestNativeProtectedPaths: what the operator protects is no mount source, nor is anything above or below it.
func TestNativeProtectedPaths(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "etc", "gateway.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o755))
	require.NoError(t, os.WriteFile(config, []byte("runtime: {}\n"), 0o600))
	c := native.Config{Spawner: conformance.Build(t, spawnerPackage), Protected: []string{config}}
	if os.Geteuid() != 0 {
		for _, g := range cgroupBound {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	b, err := backends.Open(t.Context(), native.Name, backends.Config{Native: c})
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close()) }()
	for _, source := range []string{config, filepath.Dir(config), dir} {
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
	b := open(conformance.Build(t, spawnerPackage), nil)(t)
	defer func() { assert.NoError(t, b.Close()) }()
	report, _ := b.Ready(t.Context(), sandbox.ContainerProfile{})
	for _, line := range report {
		assert.False(t, line.Waived, "%s", line.Guarantee)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o755))
	require.NoError(t, os.Chmod(to, 0o755))
}
