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

// An unpacked root directory is the whole root: its programs run from where they are, and the host's are not there.
func TestDirectoryImage(t *testing.T) {
	program := build(t, nil) // static, and says what it is when a person starts it
	root := filepath.Join(openDir(t), "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755))
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.Symlink("usr/bin", filepath.Join(root, "bin")))
	require.NoError(t, copyExecutable(program, filepath.Join(root, "usr/bin/program")))
	c := native.Config{Images: map[string]string{"unpacked": root}}
	if os.Geteuid() != 0 {
		for _, g := range []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	b, err := native.Open(t.Context(), c)
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close()) }()
	p := sandbox.ContainerProfile{Image: "unpacked"}
	for _, name := range []string{"program", "/bin/program", "/usr/bin/program"} {
		r, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{name}})
		require.NoError(t, err, name)
		assert.Equal(t, 2, r.ExitCode, name)
		assert.Contains(t, string(r.Stderr), "toolcell-init", name)
	}
	_, err = b.Run(t.Context(), p, sandbox.Command{Argv: []string{"sh"}})
	require.ErrorIs(t, err, sandbox.ErrNotFound)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{Image: "another"}, sandbox.Command{Argv: []string{"program"}})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
}
