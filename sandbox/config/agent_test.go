package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

func TestLoadAgents(t *testing.T) {
	agents, err := config.LoadAgents("testdata/agents")
	checkAgentProblems(t, err)
	require.Len(t, agents, 3, "the broken one is an error and does not hide the others")

	local, researcher, untrusted := agents[0], agents[1], agents[2]
	assert.Equal(t, "local", local.ID, "the directory's name stands for a missing id")
	assert.Equal(t, config.ExecutionProcess, local.Backend)
	assert.Equal(t, config.ToolsLimits, local.PythonTools)
	assert.Equal(t, []string{"FOO", "UNSET"}, local.Env, "what is no name is skipped; whether it is set is the gateway's to know")
	require.Len(t, local.Warnings, 2)
	assert.Contains(t, local.Warnings[0].Error(), `SOUL.yaml:3:1: env: "BAR" is skipped`)
	assert.NotContains(t, local.Warnings[0].Error(), "BAR=1", "a value is nobody's business")

	assert.Equal(t, "researcher", researcher.ID)
	assert.Equal(t, config.ExecutionSandbox, researcher.Backend)
	assert.Equal(t, []string{"SEARCH_TOKEN", "LANG"}, researcher.Env)
	assert.Equal(t, 10, researcher.Origin("execution.backend").Line)

	assert.Equal(t, config.IsolationSandbox, untrusted.Isolation)
	assert.Empty(t, untrusted.Backend)
}

func checkAgentProblems(t *testing.T, err error) {
	t.Helper()
	problems := config.Problems(err)
	var got string
	for _, p := range problems {
		p.File = filepath.Base(p.File)
		got += p.Error() + "\n"
	}
	golden(t, "testdata/agents/broken/golden", got)
}

func TestLoadAgentsElsewhere(t *testing.T) {
	dir := t.TempDir()
	agents, err := config.LoadAgents(dir)
	require.NoError(t, err)
	assert.Empty(t, agents)
	_, err = config.LoadAgents(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(filepath.Join(dir, config.AgentFile), []byte("id: one\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "odd", config.AgentFile), 0o700))
	agents, err = config.LoadAgents(dir)
	require.ErrorContains(t, err, "it is no regular file")
	require.Len(t, agents, 1)
	assert.Equal(t, "one", agents[0].ID)
}

func TestParseAgentRefuses(t *testing.T) {
	for _, text := range []string{
		"execution: {backend: dokcer}", "execution: {backend: firecracker}", "execution: {backend: ssh}", "execution: {backend: modal}",
		"execution: {backend: host}", "execution: {backend: unsandboxed}", "execution: {backend: auto}", "execution: {backend: /usr/bin/docker}",
		"execution: {backnd: docker}", "execution: docker", "execution: [docker]", "execution: {backend: [docker]}",
		"execution: {python_tools: none}", "execution: {isolation: none}", "execution: {isolation: limits}", "execution: {waive: [net.none]}",
		"execution: {backend: docker, python_tools: limits}", "execution: {backend: local, python_tools: container}",
		"Execution: {backend: local}", "execution.backend: local", "<<: {execution: {backend: local}}",
		"execution: {backend: docker}\nexecution: {backend: local}", "env: {A: b}", "env: A", "id: [a]", "- id: a", "a\tb: [",
	} {
		_, err := config.ParseAgent("dir/SOUL.yaml", []byte(text))
		require.Error(t, err, text)
		checkProblems(t, err)
	}
	for _, text := range []string{"", "id: a", "execution:", "execution: {}", "execution: {backend: ''}", "name: x\ntools: [{name: a}]", "<<: {llm: x}"} {
		a, err := config.ParseAgent("dir/SOUL.yaml", []byte(text))
		require.NoError(t, err, text)
		assert.Empty(t, a.Backend)
	}
}

// What is granted to an id is granted to one agent, and an id cannot look like another, or like a line of a report.
func TestAgentIDs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a": "id: scout", "b": "name: x\nid: scout", "scout": "", "d": `id: "x\nok    shell_exec  isolated"`, "e": `id: "scout\u200b"`, "f": "id: f",
	} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, config.AgentFile), []byte(text), 0o600))
	}
	agents, err := config.LoadAgents(dir)
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	require.Len(t, agents, 2)
	assert.Equal(t, "scout", agents[0].ID)
	assert.Equal(t, "f", agents[1].ID)
	problems := config.Problems(err)
	require.Len(t, problems, 4)
	first := filepath.Join(dir, "a", config.AgentFile)
	assert.Equal(t, filepath.Join(dir, "b", config.AgentFile)+":2:1: id: \"scout\" is also the id of "+first+" (give each agent an id of its own)", problems[0].Error())
	assert.Contains(t, problems[1].Error(), "a character that cannot be seen")
	assert.Contains(t, problems[2].Error(), "a character that cannot be seen")
	assert.Contains(t, problems[3].Error(), "is also the id of "+first)
}
