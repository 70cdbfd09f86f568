package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// seeds adds the test's own files.
func seeds(f *testing.F, patterns ...string) {
	f.Helper()
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		require.NoError(f, err)
		require.NotEmpty(f, files)
		for _, name := range files {
			data, err := os.ReadFile(name)
			require.NoError(f, err)
			f.Add(data)
		}
	}
}

// FuzzParse reads arbitrary files. What is refused is told in typed single lines; what is accepted is valid on its
// backend, loosens nothing that the file does not name, and means the same when it is shown and read again.
func FuzzParse(f *testing.F) {
	seeds(f, "testdata/*.yaml", "testdata/invalid/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f", data, linux)
		if err != nil {
			require.Nil(t, c)
			checkProblems(t, err)
			return
		}
		for _, p := range []sandbox.ContainerProfile{
			c.Profile(), c.BuiltinProfile(c.Backend()), c.ToolProfile(c.ToolBackend()),
			c.RunCodeProfile(c.Backend(), "python"), c.RunCodeProfile(c.Backend(), "node"), c.RunCodeProfile(c.Backend(), "bash"),
		} {
			if len(p.Binds) == 0 { // a workspace may lie where no mount may be; the backend says so at the call
				require.NoError(t, p.Validate())
			}
		}
		names := func(key string) bool {
			return strings.Contains(string(data), key) || strings.Contains(string(data), `\`)
		}
		assert.True(t, !c.Sandbox.Unsandboxed() || names("enabled") || names("mode"))
		assert.True(t, len(c.Waivers()) == 0 || names("waive"))
		assert.True(t, c.Sandbox.PythonTools == config.ToolsContainer || names("python_tools"))
		checkShown(t, c)
	})
}

// checkShown reads back what c shows.
func checkShown(t *testing.T, c *config.Config) {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.Show(&b))
	again, err := config.Parse("shown", []byte(b.String()), linux)
	require.NoError(t, err, b.String())
	want, got := c.Values(), again.Values()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, json.Valid(want[i].JSON))
		require.JSONEq(t, string(want[i].JSON), string(got[i].JSON), want[i].Key)
	}
}

// FuzzParseAgent reads arbitrary manifests: what is accepted asks for known things alone.
func FuzzParseAgent(f *testing.F) {
	seeds(f, "testdata/agents/*/SOUL.yaml", "testdata/invalid/*.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := config.ParseAgent("dir/SOUL.yaml", data)
		if err != nil {
			checkProblems(t, err)
			return
		}
		assert.True(t, a.Backend.Valid())
		assert.Contains(t, []config.PythonTools{"", config.ToolsContainer, config.ToolsLimits}, a.PythonTools)
		assert.Contains(t, []string{"", config.IsolationSandbox}, a.Isolation)
		assert.NotEmpty(t, a.ID)
		for _, name := range a.Env {
			assert.NotContains(t, name, "=")
			assert.NotContains(t, name, "\x00")
		}
	})
}
