package config_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/config"
)

func TestEnvironment(t *testing.T) {
	file := []byte("runtime: {sandbox: {binary: podman, runtime: runsc}}")
	o := func(flag string, e env) config.Options {
		return config.Options{GOOS: "linux", Backend: flag, LookupEnv: e.lookup}
	}
	c, err := config.Parse("f", file, o("", env{"TOOLCELL_BACKEND": "docker", "TOOLCELL_LOG": "Debug"}))
	require.NoError(t, err)
	assert.Equal(t, config.Docker, c.Backend())
	assert.Equal(t, "TOOLCELL_BACKEND", c.Origin("runtime.sandbox.binary").String())
	assert.Equal(t, slog.LevelDebug, c.LogLevel)

	c, err = config.Parse("f", file, o("nerdctl", env{"TOOLCELL_BACKEND": "dokcer"}))
	require.NoError(t, err, "the flag comes before the environment")
	assert.Equal(t, config.Nerdctl, c.Backend())
	assert.Equal(t, "--backend", c.Origin("runtime.sandbox.binary").String())

	c, err = config.Parse("f", file, o(" ", env{"TOOLCELL_BACKEND": "\t"}))
	require.NoError(t, err, "blank asks for nothing")
	assert.Equal(t, config.Podman, c.Backend())

	_, err = config.Parse("f", file, o("", env{"TOOLCELL_BACKEND": "host", "TOOLCELL_LOG": "chatty"}))
	assert.Len(t, config.Problems(err), 2, "all at once")
	for _, e := range []env{{"TOOLCELL_BACKEND": "host"}, {"TOOLCELL_BACKEND": "unsandboxed"}, {"TOOLCELL_LOG": "chatty"}} {
		_, err = config.Parse("f", file, o("", e))
		checkProblems(t, err)
		assert.Contains(t, err.Error(), "TOOLCELL_")
		assert.Contains(t, err.Error(), "accepted: ")
	}
	_, err = config.Parse("f", file, o("", env{"TOOLCELL_BACKEND": "native"}))
	checkProblems(t, err)
	assert.Equal(t, "f:1:37: runtime.sandbox.runtime: the native backend (runtime.sandbox.binary: TOOLCELL_BACKEND) has no engine's runtime (leave it out, or set binary: docker)", err.Error())
}
