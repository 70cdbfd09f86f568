package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// A word that is no guarantee is told those near to it, and the first one all.
func TestNearGuarantees(t *testing.T) {
	_, err := config.Parse("f", []byte("runtime: {sandbox: {require: [network, limit.mem, nothing], waive: [landlock, limit.cpuu]}}"), config.Options{})
	problems := config.Problems(err)
	require.Len(t, problems, 5)
	for i, want := range []string{
		`"network" is no guarantee; did you mean net.none?`, `"limit.mem" is no guarantee; did you mean limit.`, `"nothing" is no guarantee`,
		`"landlock" is no guarantee; did you mean kernel.landlock?`, `"limit.cpuu" is no guarantee; did you mean limit.cpu?`,
	} {
		assert.Contains(t, problems[i].Error(), want)
		assert.Equal(t, i == 0, strings.Contains(problems[i].Error(), string(sandbox.LifeNoSurvivors)), "all of them, once: %s", problems[i])
	}
}

// A section that is nearly the gateway's, or in another place, is passed over, and its line is named.
func TestNearMisses(t *testing.T) {
	for text, want := range map[string]string{
		"runtime:\n  sandbx: {pids: 5}\n":          "f:2:3: runtime.sandbx: this key is not read, and nothing below it holds (did you mean runtime.sandbox?)",
		"runtime:\n  executer: {backend: local}\n": "f:2:3: runtime.executer: this key is not read, and nothing below it holds (did you mean executor?)",
		"runtime:\n  executor: {backend: local}\n": "f:2:3: runtime.executor: this key is not read, and nothing below it holds (did you mean executor?)",
		"a: 1\nsandbox: {pids: 5}\n":               "f:2:1: sandbox: this key is not read, and nothing below it holds (did you mean runtime.sandbox?)",
		"sandbx: {pids: 5}\n":                      "f:1:1: sandbx: this key is not read, and nothing below it holds (did you mean runtime.sandbox?)",
		"executer: {backend: local}\n":             "f:1:1: executer: this key is not read, and nothing below it holds (did you mean executor?)",
		"runtim: {sandbox: {pids: 5}}\n":           "f:1:1: runtim: this key is not read, and nothing below it holds (did you mean runtime?)",
		"runtime: {tool_timout: 5s}\n":             "f:1:11: runtime.tool_timout: this key is not read, and nothing below it holds (did you mean runtime.tool_timeout?)",
	} {
		c, err := config.Parse("f", []byte(text), config.Options{})
		require.NoError(t, err, text)
		require.Len(t, c.Warnings, 1, text)
		assert.Equal(t, want, c.Warnings[0].Error())
	}
	c, err := config.Parse("f", []byte("server: {port: 1}\nproviders: {}\nruntime: {max_agents: 3, skills: x}\n"), config.Options{})
	require.NoError(t, err)
	assert.Empty(t, c.Warnings, "others' sections")
	a, err := config.ParseAgent("x/SOUL.yaml", []byte("exection: {backend: local}\ntools: []\nname: x\nmodel: y\n"))
	require.NoError(t, err)
	require.Len(t, a.Warnings, 1)
	assert.Contains(t, a.Warnings[0].Error(), "x/SOUL.yaml:1:1: exection: this key is not read")
}
