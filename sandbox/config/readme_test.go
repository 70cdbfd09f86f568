package config_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/config"
)

// readmeSection returns what stands below a heading of the README.
func readmeSection(t *testing.T, heading string) string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n### "+heading+"\n")
	require.True(t, ok, "the README has a section %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	section, _, _ = strings.Cut(section, "\n### ")
	return section
}

// effective returns the effective values as JSON.
func effective(c *config.Config) map[string]string {
	out := map[string]string{}
	for _, v := range c.Values() {
		out[v.Key] = string(v.JSON)
	}
	return out
}

// The README's configuration has every key, and is the default one.
func TestReadmeShowsEveryDefault(t *testing.T) {
	_, block, ok := strings.Cut(readmeSection(t, "The configuration"), "\n```yaml\n")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "\n```")
	shown := parse(t, block)
	assert.Equal(t, effective(parse(t, "")), effective(shown))
	for _, v := range shown.Values() {
		assert.NotEqual(t, config.Origin{}, v.Origin, "%s is shown", v.Key)
	}
}

// before is what a gateway has that knows nothing of this module, for every key that it knows, as JSON. A key that is not
// here is new and changes nothing of its behaviour as long as nobody writes it down: TestUpgradeTable holds that each key is in
// the README's table, here with the same value, or among the new ones.
var before = map[string]string{
	"runtime.python_bin":           `""`,
	"runtime.tool_timeout":         `""`,
	"runtime.allowed_tool_dirs":    `[]`,
	"runtime.allow_system_agents":  `[]`,
	"runtime.sandbox.enabled":      `true`,
	"runtime.sandbox.runtime":      `""`,
	"runtime.sandbox.cpus":         `1`, // what cpu_seconds came to
	"runtime.sandbox.open_files":   `256`,
	"runtime.sandbox.file_size_mb": `64`,
	"runtime.sandbox.tmp_mb":       `64`,
	"runtime.sandbox.shm_mb":       `64`, // the engine's own
	"executor.docker_network":      `"none"`,
	"executor.docker_volumes":      `[]`,
	// What follows is in the table: it differs, in its value or in what it means.
	"runtime.sandbox.binary":                 `"docker"`,
	"runtime.sandbox.mode":                   `"docker"`,
	"runtime.sandbox.image":                  `"python:3.12-slim"`,
	"runtime.sandbox.run_code.images.python": `"python:3.12-slim"`,
	"runtime.sandbox.run_code.images.node":   `"node:22-alpine"`,
	"runtime.sandbox.run_code.images.bash":   `"bash:5"`,
	"runtime.sandbox.python_tools":           `"limits"`,
	"executor.backend":                       `"process"`,
	"executor.docker_image":                  `"python:3.12-slim"`,
	"executor.docker_user":                   `"image"`,
}

// otherMeaning are the keys of the table whose value is the same, or which are new, and mean something else.
var otherMeaning = []string{
	"runtime.sandbox.pids", "runtime.sandbox.cpu_seconds", "runtime.sandbox.memory_mb", "runtime.sandbox.output_kb",
}

// newKeys change nothing by their defaults: each tool has caps of its own, and what they add is off.
var newKeys = []string{
	"runtime.sandbox.images", "runtime.sandbox.workspace", "runtime.sandbox.roots", "runtime.sandbox.timeout_seconds",
	"runtime.sandbox.scratch_exec", "runtime.sandbox.armed", "runtime.sandbox.preload", "runtime.sandbox.pin", "runtime.sandbox.require", "runtime.sandbox.waive",
}

// The upgrade table has a row with a note for every default that differs, and what it says is the default.
func TestUpgradeTable(t *testing.T) {
	now := effective(parse(t, ""))
	rows := map[string][]string{}
	for line := range strings.Lines(readmeSection(t, "Upgrading")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if key := strings.Trim(cells[0], " `"); len(cells) == 4 && strings.Contains(key, ".") {
			rows[key] = cells
		}
	}
	code := regexp.MustCompile("^`([^`]*)`$")
	for key, row := range rows {
		m := code.FindStringSubmatch(strings.TrimSpace(row[2]))
		require.NotNil(t, m, "%s: %s", key, row[2])
		assert.Equal(t, now[key], asJSON(t, m[1]), "%s: the default is what the README says", key)
		if old := code.FindStringSubmatch(strings.TrimSpace(row[1])); old != nil {
			assert.Equal(t, before[key], asJSON(t, old[1]), key)
		}
		assert.Greater(t, len(strings.TrimSpace(row[3])), 10, "%s has a note", key)
	}
	for key, value := range now {
		old, known := before[key]
		_, row := rows[key]
		assert.True(t, known || slices.Contains(otherMeaning, key) || slices.Contains(newKeys, key), "%s: is its default new?", key)
		differs := known && old != value || slices.Contains(otherMeaning, key)
		assert.Equal(t, differs, row, "%s: before %s, now %s", key, old, value)
	}
	assert.Contains(t, rows["runtime.sandbox.mode"][3], "`enabled: false` still means `unsandboxed`")
	assert.Contains(t, rows["runtime.sandbox.mode"][3], "never means the host")
}

// asJSON is a value of the file as JSON.
func asJSON(t *testing.T, s string) string {
	t.Helper()
	if json.Valid([]byte(s)) {
		return s
	}
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return string(data)
}
