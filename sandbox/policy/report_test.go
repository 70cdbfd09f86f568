package policy_test

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
	"github.com/soulacy/toolcell/sandbox/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// scenes are what operators set up; each has a golden file with the messages of a start and the lines of a check.
func scenes(t *testing.T) map[string]policy.Policy {
	t.Helper()
	auto := operator(t, "binary: auto, scratch_exec: true", "docker_network: tools")
	down := operator(t, "binary: docker", "")
	return map[string]policy.Policy{
		"default":     ready(parse(t, "", "linux")),
		"isolated":    ready(operator(t, "", "")),
		"unsandboxed": ready(operator(t, "enabled: false, python_tools: limits", "")),
		"auto":        policy.New(auto, policy.Select(auto, []policy.Probe{{Backend: "docker", Err: errNot}, {Backend: "podman"}})),
		"down":        policy.New(down, policy.Select(down, []policy.Probe{{Backend: "docker", Err: errNot}})),
		"none":        policy.New(auto, policy.Select(auto, nil)),
		"zero":        {},
	}
}

func agents(t *testing.T) []config.Agent {
	t.Helper()
	a, err := config.ParseAgent("agents/local/SOUL.yaml", []byte("id: local\nexecution: {backend: local}\nenv: [A=b]\n"))
	require.NoError(t, err)
	b, err := config.ParseAgent("agents/careful/SOUL.yaml", []byte("id: careful\nexecution: {isolation: sandbox}\n"))
	require.NoError(t, err)
	return []config.Agent{a, b}
}

func TestReports(t *testing.T) {
	for name, p := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
			for _, m := range p.Messages(agents(t)...) {
				m.Log(context.Background(), logger)
				m.Log(context.Background(), nil)
			}
			b.WriteString("\n")
			require.NoError(t, doctor.Render(&b, p.Checks(agents(t)...), false))
			file := "testdata/" + name + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run with -update to make it")
			assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), b.String())
		})
	}
}

// The check and the start say what a decision does, for every path, and nothing that is not isolated is all right.
func TestReportsTellTheTruth(t *testing.T) {
	for name, p := range scenes(t) {
		checks := p.Checks(agents(t)...)
		byName := map[string]doctor.Check{}
		for _, c := range checks {
			byName[c.Name] = c
		}
		for _, path := range policy.Paths() {
			c, ok := byName[string(path)]
			require.True(t, ok, "%s: %s has a line", name, path)
			d, err := p.Decide(policy.Request{Path: path})
			switch {
			case err != nil && name == "default" && path.Builtin(): // without a workspace
				assert.Equal(t, doctor.Warn, c.Status, "%s: %s", name, path)
				assert.Equal(t, "refused", c.Mechanism)
			case err != nil:
				assert.Equal(t, doctor.Fail, c.Status, "%s: %s", name, path)
			case d.Level == policy.Limits || d.Level == policy.Unsandboxed:
				assert.Equal(t, doctor.Warn, c.Status, "%s: %s", name, path)
				assert.NotEmpty(t, c.Remedy)
				assert.Contains(t, c.Mechanism, "not isolated")
			}
			for _, agent := range agents(t) {
				assert.Contains(t, byName, agent.ID+"/"+string(path), name)
			}
		}
		assert.Equal(t, "selection", checks[0].Name)
	}
}

// What is logged for the host is grave enough to be seen.
func TestMessagesAreLoud(t *testing.T) {
	levels := func(p policy.Policy) map[string]slog.Level {
		out := map[string]slog.Level{}
		for _, m := range p.Messages() {
			paths, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "UNSAFE: "), ":")
			for path := range strings.SplitSeq(paths, ", ") {
				out[path] = m.Level
			}
		}
		return out
	}
	all := scenes(t)
	unsafe := levels(all["unsandboxed"])
	assert.Equal(t, slog.LevelError, unsafe["shell_exec"])
	assert.Equal(t, slog.LevelError, unsafe["run_code"])
	assert.Equal(t, slog.LevelWarn, unsafe["python_file"])
	for _, l := range levels(all["isolated"]) {
		assert.Equal(t, slog.LevelInfo, l)
	}
	assert.Equal(t, slog.LevelError, levels(all["none"])["no sandbox"])
	assert.Equal(t, slog.LevelError, levels(all["down"])["the chosen backend is not ready"])
	assert.Equal(t, slog.LevelError, levels(all["down"])["inline"])
}

// What a start says and what a check says is the same, in the same words.
func TestMessagesAndChecksSayTheSame(t *testing.T) {
	for name, p := range scenes(t) {
		if name == "zero" {
			continue
		}
		said := map[string]string{}
		for _, m := range p.Messages(agents(t)...) {
			paths, words, _ := strings.Cut(strings.TrimPrefix(m.Text, "UNSAFE: "), ": ")
			agent := ""
			for _, a := range m.Attrs {
				if a.Key == "agent" {
					agent = a.Value.String() + "/"
				}
			}
			for path := range strings.SplitSeq(paths, ", ") {
				said[agent+path] = words
			}
		}
		for _, c := range p.Checks(agents(t)...) {
			agent, path, ofAgent := strings.Cut(c.Name, "/")
			words, ok := said[c.Name]
			switch {
			case c.Name == "selection", c.Mechanism == "", c.Mechanism == "not offered":
				continue
			case ofAgent && !ok:
				words = said[path]
			}
			assert.Equal(t, c.Mechanism, words, "%s: %s %s", name, agent, path)
		}
	}
}

// What a backend answered about a path is what is said of it, and of nothing else.
func TestAnswers(t *testing.T) {
	p := ready(operator(t, "", ""), "podman").WithAnswers(
		policy.Answer{Path: policy.RunCode, Backend: "native", Err: errNot},
		policy.Answer{Path: policy.Inline, Backend: "podman", Err: errNot},
		policy.Answer{Path: policy.WriteFile, Backend: "native", Err: errNot},
	)
	for _, c := range p.Checks() {
		if c.Name == "run_code" || c.Name == "write_file" {
			assert.Equal(t, doctor.Fail, c.Status, c.Name)
			assert.Contains(t, c.Mechanism, "refused, not ready", c.Name)
			continue
		}
		assert.Equal(t, doctor.OK, c.Status, c.Name)
	}
}

func TestWarningsOfTheConfigurationAreLogged(t *testing.T) {
	lookup := func(name string) (string, bool) { return "false", name == "TOOLCELL_ENABLED" }
	c, err := config.Parse("", nil, config.Options{GOOS: "linux", LookupEnv: lookup})
	require.NoError(t, err)
	m := ready(c).Messages()[0]
	assert.Equal(t, slog.LevelWarn, m.Level)
	assert.Contains(t, m.Attrs[0].Value.String(), "TOOLCELL_ENABLED: the environment cannot choose this")
}

// Who is offered what would be refused has a failure.
func TestOfferedWithoutWorkspace(t *testing.T) {
	p := ready(parse(t, "runtime: {allow_system_agents: [scout]}", "linux"))
	for _, c := range p.Checks(agent(t, "")) {
		switch {
		case c.Name == "scout/shell_exec":
			assert.Equal(t, doctor.Fail, c.Status)
			assert.Equal(t, "set runtime.sandbox.workspace", c.Remedy)
		case c.Name == "shell_exec":
			assert.Equal(t, doctor.Warn, c.Status)
		}
	}
}

func TestOffered(t *testing.T) {
	c := parse(t, "runtime: {allow_system_agents: [admin]}", "linux")
	for _, path := range policy.Paths() {
		assert.Equal(t, !path.Builtin(), policy.Offered(c, path, "other"), path)
		assert.True(t, policy.Offered(c, path, "admin"), path)
		assert.Equal(t, !path.Builtin(), policy.Offered(c, path, ""), path)
	}
}
