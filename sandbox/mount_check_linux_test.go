package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bindMountChild is set in the process that makes the bind mount in a mount namespace of its own, so that nothing of
// it is ever seen, or cleaned up, by anyone else.
const bindMountChild = "SANDBOX_TEST_BIND_MOUNT"

// A bind mount gives a forbidden place another path, which only its identity betrays.
func TestMountCheckBindMount(t *testing.T) {
	if dir := os.Getenv(bindMountChild); dir != "" {
		require.NoError(t, at(dir).Check(), "allowed before")
		require.NoError(t, syscall.Mount("/etc", dir, "", syscall.MS_BIND|syscall.MS_REC, ""))
		assert.ErrorIs(t, at(dir).Check(), ErrInvalid)
		assert.ErrorIs(t, at(filepath.Join(dir, "passwd")).Check(), ErrInvalid)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), bindMountChild+"="+realTemp(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && os.Getenv("TOOLCELL_TEST_REQUIRE") != "1" {
		t.Skipf("user namespaces: %v", err)
	}
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: "+t.Name())
}

func BenchmarkMountCheck(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if err := at(dir).Check("/nonexistent/config"); err != nil {
			b.Fatal(err)
		}
	}
}
