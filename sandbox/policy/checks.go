package policy

import (
	"errors"
	"log/slog"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
)

// Checks returns the lines of a launch check: the choice of the backend, then for every path a call can take, and for
// every path of every agent, the backend it ends on. What is not isolated, or has a network, is a
// warning, what would be refused a failure; builtins without a workspace are one only for an agent that is offered them.
func (p Policy) Checks(agents ...config.Agent) []doctor.Check {
	out := []doctor.Check{p.choiceCheck()}
	for _, f := range p.findings(config.Agent{}) {
		out = append(out, f.check)
	}
	for _, a := range agents {
		for _, w := range a.Warnings {
			out = append(out, doctor.Check{Name: a.ID, Status: doctor.Warn, Detail: w.Error()})
		}
		for _, f := range p.findings(a) {
			out = append(out, f.check)
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

// finding is what there is to say of one path: a line of the check, and how grave it is as a message.
type finding struct {
	path  Path
	check doctor.Check
	level slog.Level
}

// findings returns one for every path that an agent's calls can take.
func (p Policy) findings(a config.Agent) []finding {
	out := make([]finding, 0, len(Paths()))
	for _, path := range Paths() {
		f := p.find(Request{Path: path, Agent: a})
		f.path, f.check.Name = path, string(path)
		if a.ID != "" {
			f.check.Name = a.ID + "/" + string(path)
		}
		out = append(out, f)
	}
	return out
}

// The mechanisms of calls that do not run.
const (
	notOffered  = "not offered"
	refusedWord = "refused"
)

func (p Policy) find(r Request) finding {
	if r.Agent.ID != "" && p.config != nil && !Offered(p.config, r.Path, r.Agent.ID) {
		return finding{level: slog.LevelInfo, check: doctor.Check{
			Status: doctor.OK, Mechanism: notOffered,
			Detail: "runtime.allow_system_agents does not name the agent (" + p.config.Origin("runtime.allow_system_agents").String() + ")",
		}}
	}
	d, err := p.Decide(r)
	if err != nil {
		f := finding{level: slog.LevelWarn, check: refusedCheck(refusedWord, err)}
		if r.Agent.ID == "" && p.noWorkspace(r.Path) { // it is the operator's choice, as long as nobody is offered one
			f.check.Status = doctor.Warn
		}
		return f
	}
	if err := p.notReady(r.Path, d); err != nil {
		level := slog.LevelError
		if errors.Is(err, sandbox.ErrRefused) {
			level = slog.LevelWarn
		}
		return finding{level: level, check: refusedCheck(refusedWord+", not ready: "+d.words(), err)}
	}
	f := finding{level: slog.LevelInfo, check: doctor.Check{Status: doctor.OK, Mechanism: d.words(), Detail: d.Why}}
	if d.Network != "" {
		f.level, f.check.Status, f.check.Remedy = slog.LevelWarn, doctor.Warn, "set executor.docker_network: none"
	}
	switch d.Level {
	case Limits:
		f.level, f.check.Status, f.check.Remedy = slog.LevelWarn, doctor.Warn, remedy(r.Path)
	case Unsandboxed:
		f.level, f.check.Status, f.check.Remedy = slog.LevelError, doctor.Warn, remedy(r.Path)
	case Sandboxed, Contained:
	}
	return f
}

// refusedCheck is the line about a path whose calls are refused. It does not repeat the path's name.
func refusedCheck(mechanism string, err error) doctor.Check {
	c := doctor.FromError("", err)
	c.Mechanism = mechanism
	var e *sandbox.Error
	if errors.As(err, &e) {
		c.Detail = (&sandbox.Error{Guarantee: e.Guarantee, Cause: e.Cause}).Error()
	}
	return c
}

// words say where a call runs, the same in a check and in a message.
func (d Decision) words() string {
	switch d.Level {
	case Sandboxed:
		if d.Network != "" {
			return "isolated by " + d.Backend + ", with the network " + d.Network
		}
		return "isolated by " + d.Backend
	case Contained:
		return "in the gateway's own process, inside the roots"
	case Limits:
		return "not isolated: on this host under resource limits, which guard against exhaustion and are no boundary"
	case Unsandboxed:
		return "not isolated: on this host, with all that the gateway's user may do"
	default:
		return refusedWord
	}
}

// remedy says how a path that is not isolated becomes so.
func remedy(path Path) string {
	if path.PythonTool() {
		return "set runtime.sandbox.python_tools: container"
	}
	return "set runtime.sandbox.mode: sandbox"
}
