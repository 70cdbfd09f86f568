package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

// operator parses the inside of runtime.sandbox and of executor, with a workspace.
func operator(t *testing.T, inSandbox, inExecutor string) *config.Config {
	t.Helper()
	return parse(t, "runtime: {sandbox: {workspace: /srv/ws, "+inSandbox+"}}\nexecutor: {"+inExecutor+"}\n", "linux")
}

func parse(t *testing.T, text, goos string) *config.Config {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte(text), config.Options{GOOS: goos})
	require.NoError(t, err, text)
	return c
}

// agent parses the inside of execution.
func agent(t *testing.T, inExecution string) config.Agent {
	t.Helper()
	a, err := config.ParseAgent("scout/SOUL.yaml", []byte("id: scout\nexecution: {"+inExecution+"}\n"))
	require.NoError(t, err)
	return a
}

// ready is a policy whose chosen backend is ready.
func ready(c *config.Config, registered ...string) policy.Policy {
	probes := make([]policy.Probe, 0, 1)
	for _, b := range policy.Candidates(c) {
		probes = append(probes, policy.Probe{Backend: b})
	}
	return policy.New(c, policy.Select(c, probes), registered...)
}

var (
	commands    = []policy.Path{policy.ShellExec, policy.RunScript, policy.PythonEval, policy.InstallLibrary, policy.RunCode}
	files       = []policy.Path{policy.WriteFile, policy.ReadFile, policy.ListFiles, policy.DownloadFile}
	pythonTools = []policy.Path{policy.PythonFile, policy.Inline, policy.Plugin}
)

// outcome is a decision in a word: "native", "limits", "unsandboxed", "refused".
func outcome(d policy.Decision, err error) string {
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return "unavailable"
	case err != nil:
		return "refused"
	case d.Level == policy.Sandboxed:
		return d.Backend
	default:
		return string(d.Level)
	}
}

// Every way of configuring Python tools, every agent, every call.
func TestPythonTools(t *testing.T) {
	const (
		container = ""
		limits    = "python_tools: limits"
	)
	for _, tc := range []struct {
		sandbox, executor, execution string
		plain, isolated              string // the call asks for nothing, for isolation: sandbox
	}{
		// The floor is a container.
		{container, "", "", "native", "native"},
		{container, "", "backend: docker", "native", "native"},
		{container, "", "backend: native", "native", "native"},
		{container, "", "python_tools: container", "native", "native"},
		{container, "", "isolation: sandbox", "native", "native"},
		{container, "", "backend: local", "refused", "refused"},
		{container, "", "backend: process", "refused", "refused"},
		{container, "", "backend: pool", "refused", "refused"},
		{container, "", "python_tools: limits", "refused", "refused"},
		{container, "", "backend: podman", "refused", "refused"},
		{container, "", "backend: nerdctl", "refused", "refused"},
		{container, "backend: docker", "backend: local", "refused", "refused"},
		// The floor is the host under limits: more is granted.
		{limits, "", "", "limits", "native"},
		{limits, "", "backend: local", "limits", "native"},
		{limits, "", "backend: docker", "native", "native"},
		{limits, "", "backend: native", "native", "native"},
		{limits, "", "python_tools: container", "native", "native"},
		{limits, "", "python_tools: limits", "limits", "native"},
		{limits, "", "isolation: sandbox", "native", "native"},
		{limits, "", "backend: local, isolation: sandbox", "native", "native"},
		{limits, "", "backend: podman", "refused", "refused"},
		{limits, "backend: docker", "", "native", "native"},
		{limits, "backend: docker", "backend: pool", "limits", "native"},
		{limits, "backend: pool", "", "limits", "native"},
		// Another engine.
		{"binary: docker", "", "", "docker", "docker"},
		{"binary: docker", "", "backend: docker", "docker", "docker"},
		{"binary: docker", "", "backend: native", "refused", "refused"},
		{"binary: podman", "", "backend: docker", "podman", "podman"},
		{"binary: podman", "", "backend: podman", "podman", "podman"},
		{"binary: /usr/bin/podman", "", "backend: docker", "/usr/bin/podman", "/usr/bin/podman"},
		{"binary: /usr/bin/podman", "", "backend: podman", "refused", "refused"},
		// mode is not about Python tools.
		{"mode: unsandboxed", "", "", "native", "native"},
		{"enabled: false", "", "backend: local", "refused", "refused"},
		{"mode: unsandboxed, " + limits, "", "", "limits", "native"},
	} {
		p := ready(operator(t, tc.sandbox, tc.executor))
		a := agent(t, tc.execution)
		for _, path := range pythonTools {
			name := strings.Join([]string{tc.sandbox, tc.executor, tc.execution, string(path)}, " | ")
			assert.Equal(t, tc.plain, outcome(p.Decide(policy.Request{Path: path, Agent: a})), name)
			assert.Equal(t, tc.isolated, outcome(p.Decide(policy.Request{Path: path, Agent: a, Isolation: "sandbox"})), name+" | isolated")
		}
	}
}

// A backend that executor.backend insists on is the tools', and one that nobody opened is refused.
func TestNamedBackends(t *testing.T) {
	c := operator(t, "", "backend: podman")
	tool := policy.Request{Path: policy.Inline}
	assert.Equal(t, "podman", outcome(ready(c, "podman").Decide(tool)))
	assert.Equal(t, "refused", outcome(ready(c).Decide(tool)), "podman was not opened")
	assert.Equal(t, "native", outcome(ready(c, "podman").Decide(policy.Request{Path: policy.ShellExec})))
	for execution, want := range map[string]string{
		"": "podman", "python_tools: container": "podman", "isolation: sandbox": "podman", // the operator's own choice for tools
		"backend: docker": "native", // any sandbox: the one that binary names
		"backend: native": "native", "backend: podman": "podman", "backend: nerdctl": "refused", "backend: local": "refused",
	} {
		tool.Agent = agent(t, execution)
		assert.Equal(t, want, outcome(ready(c, "podman").Decide(tool)), execution)
	}
}

// Where the operator runs builtins on the host, an agent or a call gets a sandbox by asking for it.
func TestBuiltins(t *testing.T) {
	for _, tc := range []struct {
		sandbox, execution string
		plain, isolated    string
	}{
		{"", "", "native", "native"},
		{"mode: docker, binary: docker", "", "docker", "docker"},
		{"", "backend: docker", "native", "native"},
		{"mode: unsandboxed", "", "unsandboxed", "native"},
		{"enabled: false", "", "unsandboxed", "native"},
		{"mode: unsandboxed", "isolation: sandbox", "native", "native"},
		{"mode: unsandboxed", "backend: docker", "unsandboxed", "native"}, // it speaks of the agent's Python tools
		{"python_tools: limits", "backend: local", "native", "native"},
		{"mode: unsandboxed, binary: podman", "", "unsandboxed", "podman"},
	} {
		p := ready(operator(t, tc.sandbox, ""))
		a := agent(t, tc.execution)
		for _, path := range commands {
			name := tc.sandbox + " | " + tc.execution + " | " + string(path)
			assert.Equal(t, tc.plain, outcome(p.Decide(policy.Request{Path: path, Agent: a})), name)
			assert.Equal(t, tc.isolated, outcome(p.Decide(policy.Request{Path: path, Agent: a, Isolation: "sandbox"})), name)
		}
		for _, path := range files {
			assert.Equal(t, "contained", outcome(p.Decide(policy.Request{Path: path, Agent: a})), path)
			assert.Equal(t, "refused", outcome(p.Decide(policy.Request{Path: path, Agent: a, Isolation: "sandbox"})), path)
		}
	}
}

func TestDecisionsNameTheirBackend(t *testing.T) {
	p := ready(operator(t, "mode: unsandboxed, python_tools: limits", ""))
	for _, path := range policy.Paths() {
		d, err := p.Decide(policy.Request{Path: path})
		require.NoError(t, err)
		switch d.Level {
		case policy.Unsandboxed, policy.Limits:
			assert.Equal(t, policy.Host, d.Backend, path)
		case policy.Contained:
			assert.Empty(t, d.Backend, path)
		default:
			assert.Fail(t, "an isolated path", path)
		}
		assert.Contains(t, d.Why, "config.yaml:1", path)
	}
}

// Refused means typed, with both sides and where each was written.
func TestRefusalNamesBoth(t *testing.T) {
	p := ready(operator(t, "", ""))
	_, err := p.Decide(policy.Request{Path: policy.PythonFile, Agent: agent(t, "backend: local")})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	var refusal *policy.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, "runtime.sandbox.python_tools: container (default)", refusal.Floor)
	assert.Equal(t, "execution.backend: local (scout/SOUL.yaml:2)", refusal.Request)
	assert.Equal(t, "python_file of agent scout: less isolation than the operator allows: asked for execution.backend: local (scout/SOUL.yaml:2), "+
		"the operator's floor is runtime.sandbox.python_tools: container (default) (remove the request, or let the operator lower the floor)", err.Error())

	_, err = p.Decide(policy.Request{Path: policy.Inline, Agent: agent(t, "backend: nerdctl")})
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, "backend native (runtime.sandbox.binary: native (default))", refusal.Floor)
	assert.Equal(t, "execution.backend: nerdctl (scout/SOUL.yaml:2)", refusal.Request)
}

// What no file could hold, since it is refused there, is refused here as well: a library's caller makes values itself.
func TestUnknownIsRefusedOnEveryPath(t *testing.T) {
	p := ready(operator(t, "python_tools: limits, mode: unsandboxed", ""))
	for _, path := range policy.Paths() {
		for name, r := range map[string]policy.Request{
			"backend":         {Agent: config.Agent{Backend: "dokcer"}},
			"another one":     {Agent: config.Agent{Backend: "firecracker"}},
			"host":            {Agent: config.Agent{Backend: "host"}},
			"case":            {Agent: config.Agent{Backend: "Local"}},
			"tools":           {Agent: config.Agent{PythonTools: "none"}},
			"agent isolation": {Agent: config.Agent{Isolation: "none"}},
			"isolation":       {Isolation: "unsandboxed"},
			"limits":          {Isolation: "limits"},
			"host isolation":  {Isolation: "host"},
			"isolation case":  {Isolation: "Sandbox"},
		} {
			r.Path = path
			d, err := p.Decide(r)
			require.ErrorIs(t, err, sandbox.ErrRefused, "%s %s", path, name)
			assert.Zero(t, d)
		}
	}
	c := operator(t, "", "")
	c.Executor.Backend = "firecracker"
	for _, path := range pythonTools {
		_, err := ready(c).Decide(policy.Request{Path: path})
		require.ErrorIs(t, err, sandbox.ErrRefused, path)
	}
	for _, path := range []policy.Path{"", "eval", "shell_exec ", "SHELL_EXEC"} {
		_, err := p.Decide(policy.Request{Path: path})
		require.ErrorIs(t, err, sandbox.ErrRefused)
	}
}

func TestZeroPolicyRefuses(t *testing.T) {
	for _, p := range []policy.Policy{{}, policy.New(nil, policy.Selection{}), policy.New(nil, policy.Selection{Backend: "native"})} {
		for _, path := range policy.Paths() {
			_, err := p.Decide(policy.Request{Path: path})
			require.ErrorIs(t, err, sandbox.ErrRefused)
		}
	}
	// A configuration nobody parsed isolates; without a choice there is nothing to isolate with.
	c := &config.Config{GOOS: "linux"}
	c.Sandbox.Workspace = "/srv/ws"
	for _, path := range policy.Paths() {
		_, err := policy.New(c, policy.Selection{}).Decide(policy.Request{Path: path})
		require.ErrorIs(t, err, sandbox.ErrUnavailable, path)
		d, err := ready(c).Decide(policy.Request{Path: path})
		require.NoError(t, err)
		assert.Contains(t, []policy.Level{policy.Sandboxed, policy.Contained}, d.Level)
	}
	// Nor does one that contradicts itself, which no file can, get below its floor.
	c.Executor.Backend = config.ExecutionLocal
	assert.Equal(t, "native", outcome(ready(c).Decide(policy.Request{Path: policy.Inline})))
}

func TestWorkspace(t *testing.T) {
	for _, text := range []string{"", "runtime: {sandbox: {mode: unsandboxed}}"} {
		p := ready(parse(t, text, "linux"))
		for _, path := range policy.Paths() {
			_, err := p.Decide(policy.Request{Path: path})
			if path.Builtin() {
				require.ErrorIs(t, err, sandbox.ErrRefused, path)
				assert.Contains(t, err.Error(), "set runtime.sandbox.workspace")
			} else {
				assert.NoError(t, err, path)
			}
		}
	}
}

// The network is the operator's: an engine's, for the tools always, for the rest on request.
func TestNetwork(t *testing.T) {
	granted := ready(operator(t, "binary: docker", "docker_network: tools"))
	none := ready(operator(t, "binary: docker", ""))
	native := ready(operator(t, "", ""))
	for _, path := range append(append([]policy.Path{}, commands...), pythonTools...) {
		want := ""
		if path.PythonTool() {
			want = "tools"
		}
		d, err := granted.Decide(policy.Request{Path: path})
		require.NoError(t, err)
		assert.Equal(t, want, d.Network, path)
		d, err = granted.Decide(policy.Request{Path: path, Network: true})
		require.NoError(t, err)
		assert.Equal(t, "tools", d.Network, path)
		for _, p := range []policy.Policy{none, native} {
			d, err = p.Decide(policy.Request{Path: path})
			require.NoError(t, err)
			assert.Empty(t, d.Network)
			_, err = p.Decide(policy.Request{Path: path, Network: true, Agent: config.Agent{ID: "a"}})
			require.ErrorIs(t, err, sandbox.ErrRefused, path)
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, sandbox.NetNone, typed.Guarantee)
			assert.Contains(t, err.Error(), "executor.docker_network: none (default)")
		}
	}
}

// A runtime with a kernel of its own is part of the floor: an agent cannot ask it away.
func TestRuntimeIsPartOfTheFloor(t *testing.T) {
	p := ready(operator(t, "binary: docker, runtime: runsc", ""), "native", "podman")
	assert.Equal(t, "podman", outcome(p.Decide(policy.Request{Path: policy.Inline, Agent: agent(t, "backend: podman")})))
	_, err := p.Decide(policy.Request{Path: policy.Inline, Agent: agent(t, "backend: native")})
	require.ErrorIs(t, err, sandbox.ErrRefused)
	assert.Contains(t, err.Error(), "runtime.sandbox.runtime: runsc (config.yaml:1)")
}

func TestLimitsOnWindows(t *testing.T) {
	text := "runtime: {sandbox: {python_tools: limits}}"
	for goos, want := range map[string]string{"linux": "limits", "darwin": "limits", "windows": "refused"} {
		p := ready(parse(t, text, goos))
		d, err := p.Decide(policy.Request{Path: policy.Plugin})
		assert.Equal(t, want, outcome(d, err), goos)
		if err != nil {
			assert.Contains(t, err.Error(), "python_tools: container")
		}
		assert.NotEqual(t, "refused", outcome(p.Decide(policy.Request{Path: policy.Plugin, Isolation: "sandbox"})), goos)
	}
}
