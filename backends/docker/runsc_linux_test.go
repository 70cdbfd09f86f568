package docker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/engines"
)

// A runtime with a kernel of its own runs the same call, and one that the engine lacks is refused before it.
func TestRealRunsc(t *testing.T) {
	r := openReal(t, engines.Docker)
	r.engine.RequireRunsc(t)
	p := sandbox.ContainerProfile{Runtime: engines.RunscRuntime, Limits: sandbox.Limits{Wall: time.Minute}}
	assert.Equal(t, "65532\n", r.ok(t, p, sh("id -u")))
	res, err := r.Run(t.Context(), p, sh("exit 137"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusExited, res.Status)
	assert.Equal(t, 137, res.ExitCode)
	c := sh("echo so far; sleep 999")
	c.Timeout = time.Second
	res, err = r.Run(t.Context(), p, c)
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusTimeout, res.Status)
	_, err = r.Run(t.Context(), sandbox.ContainerProfile{Runtime: "kata"}, sh("true"))
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// gVisor cannot tell the processes of a session's calls apart, so there is no session.
func TestRealRunscSession(t *testing.T) {
	r := openReal(t, engines.Docker)
	r.engine.RequireRunsc(t)
	_, err := r.OpenSession(t.Context(), sandbox.ContainerProfile{Runtime: engines.RunscRuntime}, sandbox.SessionOptions{})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var typed *sandbox.Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, sandbox.LifeNoSurvivors, typed.Guarantee)
	assert.NotEmpty(t, typed.Fix)
}
