package policy

import (
	"errors"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
)

// Checks returns the lines of a launch check: the choice of the backend, then for every path a call can take, and for
// every path of every agent, the backend it ends on. What is not isolated is a warning, what would be refused a failure.
func (p Policy) Checks(agents ...config.Agent) []doctor.Check {
	out := []doctor.Check{p.choiceCheck()}
	for _, path := range Paths() {
		out = append(out, p.check(Request{Path: path}))
	}
	for _, a := range agents {
		for _, w := range a.Warnings {
			out = append(out, doctor.Check{Name: a.ID, Status: doctor.Warn, Detail: w.Error()})
		}
		for _, path := range Paths() {
			out = append(out, p.check(Request{Path: path, Agent: a}))
		}
	}
	return out
}

// choiceCheck is the line about the chosen backend.
func (p Policy) choiceCheck() doctor.Check {
	if err := p.selection.Err(); err != nil {
		return doctor.FromError("selection", err)
	}
	c := doctor.FromError("selection", p.selection.probeErr(p.selection.Backend))
	c.Mechanism = p.selection.Backend
	if c.Detail == "" {
		c.Detail = p.selection.From
	}
	return c
}

// check is the line about one path.
func (p Policy) check(r Request) doctor.Check {
	name := string(r.Path)
	if r.Agent.ID != "" {
		name = r.Agent.ID + "/" + name
		if p.config != nil && !Offered(p.config, r.Path, r.Agent.ID) {
			return doctor.Check{
				Name: name, Status: doctor.OK, Mechanism: "not offered",
				Detail: "runtime.allow_system_agents does not name the agent (" + p.config.Origin("runtime.allow_system_agents").String() + ")",
			}
		}
	}
	d, err := p.Decide(r)
	if err != nil {
		return refusedCheck(name, err)
	}
	c := doctor.Check{Name: name, Status: doctor.OK, Mechanism: d.mechanism(), Detail: d.Why}
	if !d.isolated() {
		c.Status, c.Remedy = doctor.Warn, remedy(r.Path)
	}
	if err := p.notReady(r.Path, d); err != nil {
		refused := refusedCheck(name, err)
		refused.Mechanism = c.Mechanism + ", not ready"
		return refused
	}
	return c
}

// refusedCheck is the line about a path whose calls are refused. It does not repeat the path's name.
func refusedCheck(name string, err error) doctor.Check {
	c := doctor.FromError(name, err)
	c.Mechanism = "refused"
	var e *sandbox.Error
	if errors.As(err, &e) {
		c.Detail = (&sandbox.Error{Guarantee: e.Guarantee, Cause: e.Cause}).Error()
	}
	return c
}

// mechanism is the decision in a word or two.
func (d Decision) mechanism() string {
	switch d.Level {
	case Sandboxed:
		if d.Network != "" {
			return d.Backend + ", network " + d.Network
		}
		return d.Backend
	case Contained:
		return "this process, inside the roots"
	case Limits:
		return d.Backend + ", resource limits only: not isolated"
	case Unsandboxed:
		return d.Backend + ", unsandboxed: not isolated"
	default:
		return "refused"
	}
}

// remedy says how a path that is not isolated becomes so.
func remedy(path Path) string {
	if path.PythonTool() {
		return "set runtime.sandbox.python_tools: container"
	}
	return "set runtime.sandbox.mode: sandbox"
}
