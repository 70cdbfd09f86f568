package policy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
)

// order is the rule that the decisions are held against, written down a second time.
var order = []policy.Level{policy.Unsandboxed, policy.Limits, policy.Contained, policy.Sandboxed}

func atLeast(l, floor policy.Level) bool { return slices.Index(order, l) >= slices.Index(order, floor) }

// combinations yields every policy that values of the configuration's words can make, also those no file can hold.
func combinations(yield func(*config.Config, policy.Policy)) {
	for _, mode := range []config.Mode{"", config.ModeSandbox, config.ModeUnsandboxed} {
		for _, tools := range []config.PythonTools{"", config.ToolsContainer, config.ToolsLimits} {
			for _, executor := range []config.Execution{"", "docker", "native", "podman", "local", "pool"} {
				for _, binary := range []string{"native", "docker", "auto"} {
					for _, network := range []string{"", "none", "tools"} {
						c := &config.Config{GOOS: "linux"}
						c.Sandbox = config.Sandbox{Mode: mode, PythonTools: tools, Binary: binary, Workspace: "/srv/ws"}
						c.Executor = config.Executor{Backend: executor, Network: network}
						yield(c, policy.New(c, policy.Select(c, []policy.Probe{{Backend: "native"}, {Backend: "docker"}}), "podman"))
					}
				}
			}
		}
	}
}

func requests(yield func(policy.Request)) {
	for _, path := range policy.Paths() {
		for _, backend := range []config.Execution{"", "docker", "native", "podman", "nerdctl", "local", "ssh"} {
			for _, tools := range []config.PythonTools{"", "container", "limits", "none"} {
				for _, isolation := range []string{"", "sandbox", "off"} {
					for _, call := range []string{"", "sandbox", "off"} {
						a := config.Agent{ID: "a", Backend: backend, PythonTools: tools, Isolation: isolation}
						yield(policy.Request{Path: path, Agent: a, Isolation: call, Network: len(backend) > 5})
					}
				}
			}
		}
	}
}

// Whatever an agent and a call ask for, nothing runs below the operator's floor, nothing reaches the host that the file
// does not put there, nobody gets another backend or network than was asked and granted, and the unknown is refused.
func TestTheRuleHoldsForEveryCombination(t *testing.T) {
	granted, total := 0, 0
	combinations(func(c *config.Config, p policy.Policy) {
		requests(func(r policy.Request) {
			total++
			d, err := p.Decide(r)
			if err != nil {
				if d != (policy.Decision{}) || !isTyped(err) {
					require.Fail(t, "a refusal decides nothing and is typed", "%+v %+v -> %+v, %v", c.Sandbox, r, d, err)
				}
				return
			}
			granted++
			if why := broken(c, p, r, d); why != "" {
				require.Fail(t, why, "%+v %+v %+v -> %+v", c.Sandbox, c.Executor, r, d)
			}
		})
	})
	assert.Greater(t, granted, total/20, "the rule is not kept by refusing everything")
}

func isTyped(err error) bool {
	var e *sandbox.Error
	return errors.As(err, &e) && (e.Kind == sandbox.KindRefused || e.Kind == sandbox.KindUnavailable)
}

// broken says which part of the rule a decision breaks.
func broken(c *config.Config, p policy.Policy, r policy.Request, d policy.Decision) string {
	floor := policy.Sandboxed
	switch {
	case r.Path.PythonTool() && c.Sandbox.PythonTools == config.ToolsLimits:
		floor = policy.Limits
	case r.Path.InProcess():
		floor = policy.Contained
	case !r.Path.PythonTool() && c.Sandbox.Mode == config.ModeUnsandboxed:
		floor = policy.Unsandboxed
	}
	asked := r.Isolation == "sandbox" || r.Agent.Isolation == "sandbox" && !r.Path.InProcess()
	onHost := d.Level == policy.Limits || d.Level == policy.Unsandboxed
	switch {
	case !atLeast(d.Level, floor):
		return "below the floor"
	case asked && d.Level != policy.Sandboxed:
		return "isolation was asked for and not given"
	case r.Path.PythonTool() && r.Agent.PythonTools == config.ToolsContainer && d.Level != policy.Sandboxed:
		return "a container was asked for and not given"
	case r.Isolation == "off" || r.Agent.Isolation == "off" || r.Agent.Backend == "ssh" || r.Agent.PythonTools == "none":
		return "the unknown was granted"
	case onHost != (d.Backend == policy.Host):
		return "the host is not named so"
	case r.Path.PythonTool() && d.Level == policy.Unsandboxed:
		return "a Python tool without limits"
	case d.Level == policy.Sandboxed && d.Backend != p.Selection().Backend && d.Backend != "podman":
		return "a backend that nobody opened"
	case r.Path.PythonTool() && r.Agent.Backend.Exact() != "" && d.Backend != r.Agent.Backend.Exact():
		return "another backend than asked for"
	case d.Network != "" && (d.Network != c.Executor.Network || d.Network == "none" || !config.IsEngine(d.Backend)):
		return "a network that nobody granted"
	case r.Network && d.Level == policy.Sandboxed && d.Network == "":
		return "a network was asked for and quietly left out"
	}
	return ""
}

// Asking for isolation never makes a call less isolated.
func TestAskingForMoreNeverGivesLess(t *testing.T) {
	combinations(func(_ *config.Config, p policy.Policy) {
		requests(func(r policy.Request) {
			d, err := p.Decide(r)
			if err != nil || r.Isolation != "" {
				return
			}
			r.Isolation = config.IsolationSandbox
			if more, err := p.Decide(r); err == nil && more.Level != policy.Sandboxed {
				require.Fail(t, "not isolated", "%+v -> %+v, and without asking %+v", r, more, d)
			}
		})
	})
}
