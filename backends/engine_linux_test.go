package backends_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// pool holds the real engines. It is empty unless they are switched on.
var pool engines.Pool

// Where native cannot be had, auto is a real engine, every path ends on it, and the calls run there.
func TestAutoOnARealEngine(t *testing.T) {
	e := pool.Start(t, engines.Docker)
	e.Setenv(t)
	image := e.Load(t, engines.Python())
	o := backends.Options{Open: func(ctx context.Context, name string, c backends.Config) (sandbox.Backend, error) {
		if name != config.Docker {
			return nil, errDown
		}
		return backends.OpenBackend(ctx, e.Binary, c)
	}}
	o.Backends.Docker.Helper = conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper")
	o.Backends.Docker.ProbeTimeout = time.Minute
	base := t.TempDir()
	text := fmt.Sprintf("runtime: {sandbox: {binary: auto, workspace: %s, image: %[2]s, timeout_seconds: 300, "+
		"run_code: {images: {python: %[2]s, node: %[2]s, bash: %[2]s}}}}\nexecutor: {docker_image: %[2]s}\n", base, image)
	r, err := backends.Open(t.Context(), parse(t, text), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	assert.Equal(t, config.Docker, r.Policy().Selection().Backend)
	for _, c := range append(r.Doctor(t.Context()), r.Checks(t.Context())...) {
		absent := c.Guarantee == sandbox.KernelLandlock || c.Guarantee == sandbox.IPCNoHostSockets
		assert.True(t, c.Status == doctor.OK || absent && c.Status == doctor.Warn || c.Name == "download_file", "%+v", c)
	}
	ts := r.Tools(config.Agent{})
	out, err := ts.ShellExec(t.Context(), tools.ShellArgs{Command: "echo made > made; id -u"})
	require.NoError(t, err)
	assert.NotEqual(t, "0\n", out.Text())
	assert.Equal(t, "docker", out.Result.Backend)
	made, err := os.ReadFile(filepath.Join(ts.Workspace, "made"))
	require.NoError(t, err)
	assert.Equal(t, "made\n", string(made))
	code, err := ts.RunCode(t.Context(), tools.CodeArgs{Language: "python", Code: "print(6 * 7)"})
	require.NoError(t, err)
	assert.Equal(t, "42\n", string(code.Result.Stdout))
	own, err := ts.Inline(t.Context(), tools.InlineArgs{PythonCall: tools.PythonCall{Name: "t"}, Code: "print('inline')"})
	require.NoError(t, err)
	assert.Equal(t, "inline", own.Text())
}

// An image that is not there is a finding before the first call, with its fix, and of the paths that need it alone.
func TestImageThatIsNotThere(t *testing.T) {
	e := pool.Start(t, engines.Docker)
	e.Setenv(t)
	o := backends.Options{}
	o.Backends.Docker.Helper = conformance.Build(t, "github.com/soulacy/toolcell/backends/docker/testdata/helper")
	o.Backends.Docker.ProbeTimeout = time.Minute
	text := fmt.Sprintf("runtime: {sandbox: {binary: %s, image: %[2]s, run_code: {images: {python: %[2]s, node: absent:1, bash: %[2]s}}}}\n"+
		"executor: {docker_image: %[2]s}\n", e.Binary, e.Load(t, engines.Python()))
	r, err := backends.Open(t.Context(), parse(t, text), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	found := map[string]doctor.Check{}
	for _, c := range r.Checks(t.Context()) {
		found[c.Name] = c
	}
	assert.Equal(t, doctor.Fail, found["run_code"].Status)
	assert.Contains(t, found["run_code"].Detail, "absent:1")
	assert.NotEmpty(t, found["run_code"].Remedy)
	assert.Equal(t, doctor.OK, found["inline"].Status, "%+v", found["inline"])
}
