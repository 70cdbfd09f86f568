package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// TestWorkingDirectoryBehindADescriptor: the way to the working directory may lead over links that a program left in a mount,
// and over no descriptor of init's: some are the host's own directories (CVE-2024-21626).
func TestWorkingDirectoryBehindADescriptor(t *testing.T) {
	requireRoot(t)
	dir := openDir(t)
	for n := range 100 {
		require.NoError(t, os.Symlink("/proc/self/fd/"+decimal(n), filepath.Join(dir, "fd"+decimal(n))))
	}
	for name, to := range map[string]string{"link": "/usr/bin", "cwd": "/proc/self/cwd", "root": "/proc/1/root"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	b := open(t, native.Config{})
	enter := func(name string) (string, error) {
		p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/work", Writable: true}}}
		r, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"pwd"}, Dir: "/work/" + name})
		return string(r.Stdout), err
	}
	at, err := enter("link")
	require.NoError(t, err, "links are followed")
	assert.Equal(t, "/usr/bin\n", at)
	assert.Equal(t, "/work\n", string(run(t, b, "exec 5< /work; cd /work/fd5 && pwd -P", sandbox.Mount{Source: dir, Target: "/work"}).Stdout), "these too, by a program")
	for n := range 100 {
		at, err := enter("fd" + decimal(n))
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "%d: %s", n, at)
	}
	for _, name := range []string{"cwd", "root"} {
		_, err := enter(name)
		assert.ErrorIs(t, err, sandbox.ErrInvalid, name)
	}
}
