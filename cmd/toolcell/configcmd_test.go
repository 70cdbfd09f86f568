package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/config"
)

// configRun runs `toolcell config` with args and returns its exit code and output.
func configRun(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	cmd := a.configCmd()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	if exit, ok := err.(exitCode); ok { //nolint:errorlint // it is never wrapped
		code = int(exit)
	} else if err != nil {
		code = 125
	}
	return code, out.String(), errs.String()
}

func TestConfigCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }

	write("runtime: {sandbox: {binary: docker}}\n")
	code, stdout, stderr := configRun(t, nil, "check", file)
	assert.Equal(t, 0, code)
	assert.Equal(t, "ok: "+file+"\n", stdout)
	assert.Empty(t, stderr)

	code, stdout, stderr = configRun(t, map[string]string{"TOOLCELL_CONFIG": file, "TOOLCELL_MODE": "unsandboxed"}, "check")
	assert.Equal(t, 0, code)
	assert.Equal(t, "ok: "+file+"\n", stdout)
	assert.Contains(t, stderr, "toolcell: warning: TOOLCELL_MODE: ")

	write("runtime: {sandbox: {pids: -1, mode: none}}\n")
	code, stdout, stderr = configRun(t, nil, "check", file)
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], "toolcell: "+file+":1:27: runtime.sandbox.pids: -1 must not be negative")
	assert.Contains(t, lines[1], "toolcell: "+file+":1:37: runtime.sandbox.mode: ")

	code, stdout, stderr = configRun(t, nil, "check", "--json", file)
	assert.Equal(t, 1, code)
	assert.Empty(t, stderr)
	var v verdict
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	assert.False(t, v.Valid)
	require.Len(t, v.Problems, 2)
	assert.Equal(t, 27, v.Problems[0].Column)

	code, stdout, _ = configRun(t, nil, "check", "--config", file)
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	code, _, _ = configRun(t, nil, "check", "--config", file, file)
	assert.Equal(t, 125, code)

	write("sandbox: {pids: 7}\n")
	code, stdout, _ = configRun(t, nil, "check", file)
	assert.Equal(t, 0, code)
	assert.Equal(t, "ok: "+file+": it sets nothing that is read here (runtime.sandbox, executor): the defaults\n", stdout)
	write("runtime: {sandbox: {pids: 7, binary: docker, run_code: {images: {bash: bash:5}}}}\n")
	code, stdout, _ = configRun(t, nil, "check", "--json", "--config", file, "--backend", "podman")
	assert.Equal(t, 0, code)
	v = verdict{}
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	assert.True(t, v.Valid)
	assert.Equal(t, []string{"runtime.sandbox.pids", "runtime.sandbox.run_code.images.bash"}, v.Set)

	code, _, stderr = configRun(t, nil, "check", file+".none")
	assert.Equal(t, 1, code)
	assert.Equal(t, 1, strings.Count(stderr, "\n"))
	code, _, _ = configRun(t, nil, "check", "a", "b")
	assert.Equal(t, 125, code)
}

func TestConfigShow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte("runtime: {sandbox: {binary: docker, pids: 7}}\n"), 0o600))
	code, stdout, _ := configRun(t, nil, "show", "--config", file, "--backend", "podman")
	assert.Equal(t, 0, code)
	assert.Contains(t, stdout, `binary: "podman"  # --backend`)
	assert.Contains(t, stdout, "pids: 7  # "+file+":1\n")
	assert.Contains(t, stdout, "open_files: 256  # default\n")

	code, same, _ := configRun(t, nil, "show", "--backend", "podman", file)
	assert.Equal(t, 0, code)
	assert.Equal(t, stdout, same)

	code, stdout, _ = configRun(t, map[string]string{"TOOLCELL_CONFIG": file, "TOOLCELL_BACKEND": "nerdctl"}, "show", "--json")
	assert.Equal(t, 0, code)
	var shown struct {
		File   string
		Values []config.Value
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &shown))
	assert.Equal(t, file, shown.File)
	for _, v := range shown.Values {
		if v.Key == "runtime.sandbox.binary" {
			assert.JSONEq(t, `"nerdctl"`, string(v.JSON))
			assert.Equal(t, config.Origin{Variable: "TOOLCELL_BACKEND"}, v.Origin)
		}
	}
	code, _, stderr := configRun(t, nil, "show", "--config", file, "--backend", "host")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "toolcell: --backend: \"host\" is no backend")
}

// A file without a name is none: what a script's unset variable became is not what it meant to check.
func TestConfigFileWithoutName(t *testing.T) {
	for _, args := range [][]string{{"check", ""}, {"show", ""}, {"check", "--config="}, {"show", "--config", ""}} {
		code, stdout, _ := configRun(t, nil, args...)
		assert.Equal(t, 125, code, args)
		assert.Empty(t, stdout, args)
	}
}
