package backends

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// chooser is a runner that decides for one agent.
type chooser struct {
	runner *Runner
	agent  config.Agent
}

// Choose implements [tools.Chooser]: the policy decides, and the backend of its decision gets the profile of the path. A
// tool's name is its path.
func (c chooser) Choose(ctx context.Context, q tools.Request) (tools.Place, error) {
	path := policy.Path(q.Tool)
	d, err := c.runner.policy.Decide(policy.Request{Path: path, Agent: c.agent, Isolation: q.Isolation, Network: q.Network})
	if err != nil {
		return tools.Place{}, err
	}
	return c.runner.place(ctx, path, d, q.Language)
}

// place is where a decision has a call run.
func (r *Runner) place(ctx context.Context, path policy.Path, d policy.Decision, language string) (tools.Place, error) {
	if path.Builtin() && r.workspace != nil {
		return tools.Place{}, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: string(path), Cause: r.workspace, Fix: "see to runtime.sandbox.workspace"}
	}
	if d.Level == policy.Contained && r.config.Sandbox.Unsandboxed() {
		return tools.Place{}, nil // it waits for no backend
	}
	s, err := r.slot(path, d)
	if err != nil {
		return tools.Place{}, err
	}
	b, err := r.backends.get(ctx, s)
	if err != nil {
		return tools.Place{}, err
	}
	if _, ok := b.(sandbox.Armer); ok && !r.keepsReady(s) {
		b = unarmed{b}
	}
	p := tools.Place{Backend: b, OnHost: s.mode != "", Profile: r.profile(path, s, language), MaxTimeout: r.config.MaxTimeout(path.PythonTool())}
	if p.OnHost {
		p.Python = r.config.Runtime.PythonBin
	}
	if d.Network != "" {
		p.Profile.Network = d.Network
	}
	return p, nil
}

// unarmed is a backend on which nothing stands ready.
type unarmed struct{ sandbox.Backend }

// keepsReady reports whether sandboxes may stand ready on a backend: containers, which weigh more than native's, do when the
// operator has written so.
func (r *Runner) keepsReady(s slot) bool {
	written := r.config.Origin("runtime.sandbox.armed") != (config.Origin{})
	return s.mode != "" || !config.IsEngine(s.name) || written && r.config.Sandbox.Armed
}

// slot is the backend that a decision means. What works in this process waits for the chosen one.
func (r *Runner) slot(path policy.Path, d policy.Decision) (slot, error) {
	switch d.Level {
	case policy.Unsandboxed:
		return slot{mode: host.Unsandboxed}, nil
	case policy.Limits:
		return slot{mode: host.Limits}, nil
	case policy.Contained:
		d.Backend = r.policy.Selection().Backend
	case policy.Sandboxed:
	default:
		d.Backend = ""
	}
	if d.Backend == "" {
		return slot{}, &sandbox.Error{Kind: sandbox.KindRefused, Op: string(path), Cause: errors.New("the decision names no backend")}
	}
	imageUser := path.PythonTool() && config.IsEngine(d.Backend) && r.config.KeepsImageUser()
	return slot{name: d.Backend, imageUser: imageUser}, nil
}

// profile is what the calls of a path run under. On the host only the limits mean something.
func (r *Runner) profile(path policy.Path, s slot, language string) sandbox.ContainerProfile {
	c := r.config
	switch {
	case s.mode != "":
		return c.HostProfile(path.PythonTool())
	case path.PythonTool():
		return c.ToolProfile(s.name)
	case path == policy.RunCode:
		return c.RunCodeProfile(s.name, language)
	default:
		return c.BuiltinProfile(s.name)
	}
}
