package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A bind mount gives a forbidden place another path, which only its identity betrays.
func TestMountCheckBindMount(t *testing.T) {
	dir := filepath.Join(realTemp(t), "elsewhere")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, at(dir).Check())
	if err := syscall.Mount("/etc", dir, "", syscall.MS_BIND, ""); err != nil {
		if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
			require.NoError(t, err)
		}
		t.Skipf("bind mount: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	assert.ErrorIs(t, at(dir).Check(), ErrInvalid)
	assert.ErrorIs(t, at(filepath.Join(dir, "passwd")).Check(), ErrInvalid)
}

func BenchmarkMountCheck(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		if err := at(dir).Check("/nonexistent/config"); err != nil {
			b.Fatal(err)
		}
	}
}
