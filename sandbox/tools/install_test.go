package tools_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/fake"
)

// granted makes tools whose operator grants a network.
func granted(t *testing.T, b sandbox.Backend) tools.Tools {
	ts := set(t, b)
	ts.Chooser = choose(func(tools.Request) (tools.Place, error) {
		return tools.Place{Backend: b, Profile: sandbox.ContainerProfile{Network: "packages"}}, nil
	})
	return ts
}

func TestInstallLibrary(t *testing.T) {
	b := &fake.Backend{Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "", "") }}
	ts := granted(t, b)
	require.NoError(t, os.Mkdir(filepath.Join(ts.Workspace, "libs"), 0o700))
	pip := []string{"python3", "-I", "-m", "pip", "install", "--quiet", "--target"}
	npm := []string{"/bin/sh", "/code/install.sh"}
	for _, c := range []struct {
		args tools.InstallArgs
		argv []string
		note string
	}{
		{tools.InstallArgs{Manager: "pip", Package: "requests"}, append(pip, "/tmp/packages", "--", "requests"),
			"requests was installed for this call only; name a target directory of the workspace to keep it\n"},
		{tools.InstallArgs{Manager: "pip3", Package: "a.b_c[x,y]", Version: "1.0.post1", Target: "libs"}, append(pip, "/workspace/libs", "--", "a.b_c[x,y]==1.0.post1"),
			"a.b_c[x,y] was installed in /workspace/libs; use it with PYTHONPATH=/workspace/libs\n"},
		{tools.InstallArgs{Manager: "pip", Package: "x", Target: "/workspace/new/dir"}, append(pip, "/workspace/new/dir", "--", "x"),
			"x was installed in /workspace/new/dir; use it with PYTHONPATH=/workspace/new/dir\n"},
		{tools.InstallArgs{Manager: "npm", Package: "@scope/pkg", Version: "^1.2.3", Target: "libs"}, append(npm, "/workspace/libs", "--", "@scope/pkg@^1.2.3"),
			"@scope/pkg was installed in /workspace/libs; use it with NODE_PATH=/workspace/libs/node_modules\n"},
	} {
		o, err := ts.InstallLibrary(t.Context(), c.args)
		require.NoError(t, err)
		assert.Equal(t, c.note, o.Text())
		calls := b.Calls()
		call := calls[len(calls)-1]
		assert.Equal(t, c.argv, call.Command.Argv)
		assert.Equal(t, "packages", call.Profile.Network)
		assert.Equal(t, "/output", call.Command.Dir, "not where earlier calls wrote")
		assert.Equal(t, 5*time.Minute, call.Command.Timeout)
	}
	assert.Empty(t, names(t, ts.TempDir), "nothing is left")
}

func TestInstallLibraryFails(t *testing.T) {
	ts := granted(t, fake.New(fake.Exit(1, "", "ERROR: no matching distribution")))
	o, err := ts.InstallLibrary(t.Context(), tools.InstallArgs{Manager: "pip", Package: "x"})
	require.NoError(t, err)
	assert.Equal(t, "exit_code: 1\n\n--- stderr ---\nERROR: no matching distribution\n", o.Text())
}

func TestInstallLibraryRefuses(t *testing.T) {
	b := fake.New()
	ts := granted(t, b)
	for _, c := range []struct {
		args tools.InstallArgs
		want error
	}{
		{tools.InstallArgs{Manager: "apt", Package: "x"}, sandbox.ErrRefused},
		{tools.InstallArgs{Manager: "brew", Package: "x"}, sandbox.ErrRefused},
		{tools.InstallArgs{Manager: "cargo", Package: "x"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Package: "x"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "--index-url=http://evil"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "a b"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "./x"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "/workspace/x"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "git+https://x/y"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "x\n"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "x.tar.gz"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "x-1-py3-none-any.WHL"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "x.tgz"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "x", Version: "x.tgz"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "x", Version: "1 x.TAR"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "x", Version: "1 ; python_version"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "../x"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "user/repo"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "npm", Package: "x", Version: "npm:evil"}, sandbox.ErrInvalid},
		{tools.InstallArgs{Manager: "pip", Package: "x", Target: "../out"}, sandbox.ErrRefused},
		{tools.InstallArgs{Manager: "pip", Package: "x", Target: "/usr/lib"}, sandbox.ErrRefused},
	} {
		_, err := ts.InstallLibrary(t.Context(), c.args)
		assert.ErrorIs(t, err, c.want, "%+v", c.args)
		assert.True(t, tools.Final(err))
	}
	assert.Empty(t, b.Calls())

	_, err := set(t, b).InstallLibrary(t.Context(), tools.InstallArgs{Manager: "pip", Package: "x"})
	require.ErrorIs(t, err, sandbox.ErrRefused, "no network")
	assert.ErrorContains(t, err, "let the operator grant one")
	var e *sandbox.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, sandbox.NetNone, e.Guarantee)
	assert.NotEmpty(t, e.Fix)
	assert.Empty(t, b.Calls())
}
