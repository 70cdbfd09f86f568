package backends_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// The test binary is its own spawner and supervisor, as a gateway is.
func TestMain(m *testing.M) {
	spawner.Main()
	host.Main()
	os.Exit(pool.Main(m))
}

// The host is reached where the configuration says so, and by nothing else.
func TestHost(t *testing.T) {
	plain := config.Agent{}
	isolated := tools.Request{Tool: tools.NameShellExec, Isolation: "sandbox"}
	r := (&machine{}).start(t, "runtime: {sandbox: {mode: unsandboxed, workspace: "+t.TempDir()+"}}", backends.Options{})
	p, err := place(t, r, plain, tools.Request{Tool: tools.NameShellExec})
	require.NoError(t, err)
	assert.True(t, p.OnHost)
	out, err := r.Tools(plain).ShellExec(t.Context(), tools.ShellArgs{Command: "echo $((20+22))"})
	require.NoError(t, err)
	assert.Equal(t, "42\n", out.Text())
	assert.Equal(t, host.Name, out.Result.Backend)
	p, err = place(t, r, plain, isolated)
	require.NoError(t, err)
	assert.False(t, p.OnHost, "a call may ask for more")
	p, err = place(t, r, plain, tools.Request{Tool: tools.NameInline})
	require.NoError(t, err)
	assert.False(t, p.OnHost, "mode is not about Python tools")
	p, err = place(t, r, plain, tools.Request{Tool: tools.NameWriteFile})
	require.NoError(t, err)
	assert.Nil(t, p.Backend, "it waits for no sandbox")

	local := agent(t, "execution: {backend: local}")
	r = (&machine{}).start(t, "runtime: {sandbox: {python_tools: limits, runtime: runsc, binary: docker}}\n"+
		"executor: {docker_volumes: ['/srv/data:/data'], docker_user: '1000:1000'}", backends.Options{Agents: []config.Agent{local}})
	for _, a := range []config.Agent{plain, local} {
		p, err = place(t, r, a, tools.Request{Tool: tools.NamePythonFile})
		require.NoError(t, err)
		assert.True(t, p.OnHost)
		_, err = p.Backend.Ready(t.Context(), p.Profile)
		assert.NoError(t, err, "volumes, users and runtimes are a sandbox's")
	}
	p, err = place(t, r, plain, tools.Request{Tool: tools.NameRunCode, Language: "python"})
	require.NoError(t, err)
	assert.False(t, p.OnHost)

	r = (&machine{}).start(t, "", backends.Options{})
	_, err = place(t, r, local, tools.Request{Tool: tools.NamePythonFile})
	assert.ErrorIs(t, err, sandbox.ErrRefused, "less than the floor")
}

// What the host cannot give refuses the call there, too.
func TestRequiredOnTheHost(t *testing.T) {
	r := (&machine{}).start(t, "runtime: {sandbox: {mode: unsandboxed, require: [net.none], workspace: "+t.TempDir()+"}}", backends.Options{})
	_, err := r.Tools(config.Agent{}).ShellExec(t.Context(), tools.ShellArgs{Command: "true"})
	assert.ErrorIs(t, err, sandbox.ErrRefused)
}
