package policy

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox/config"
)

// Message is one thing that an operator is told at each start.
type Message struct {
	// Level is how grave it is: what runs on the host without a sandbox is an error, resource limits are a warning.
	Level slog.Level
	// Text is the message, always the same for the same fact.
	Text string
	// Attrs say the rest.
	Attrs []slog.Attr
}

// Log writes the message. A nil logger is silent.
func (m Message) Log(ctx context.Context, l *slog.Logger) {
	if l != nil {
		l.LogAttrs(ctx, m.Level, m.Text, m.Attrs...)
	}
}

// Messages returns what is to be logged at each start: where every kind of call runs and why, in the words of [Policy.Checks],
// what an agent's calls do otherwise, and what the operator granted. Waivers are the backends' to log, when they are opened.
func (p Policy) Messages(agents ...config.Agent) []Message {
	if p.config == nil {
		return []Message{{slog.LevelError, "every call is refused: no configuration", nil}}
	}
	var out []Message
	for _, w := range p.config.Warnings {
		out = append(out, Message{slog.LevelWarn, "configuration", []slog.Attr{slog.String("problem", w.Error())}})
	}
	out = append(out, p.choiceMessages()...)
	usual := p.findings(config.Agent{})
	out = append(out, tell(usual)...)
	for _, a := range agents {
		out = append(out, tell(unusual(p.findings(a), usual), slog.String("agent", a.ID))...)
	}
	return append(out, p.grantMessages()...)
}

// unusual are the findings about an agent that are not those about any call, and not that it is offered less.
func unusual(of, usual []finding) []finding {
	var out []finding
	for i, f := range of {
		same := usual[i].check
		same.Name = f.check.Name
		if f.check != same && f.check.Mechanism != notOffered {
			out = append(out, f)
		}
	}
	return out
}

// tell makes one message of all findings that say the same of different paths.
func tell(findings []finding, more ...slog.Attr) []Message {
	var out []Message
	for findings = slices.Clone(findings); len(findings) > 0; {
		first := findings[0]
		var paths []string
		findings = slices.DeleteFunc(findings, func(f finding) bool {
			f.check.Name = first.check.Name
			same := f.check == first.check
			if same {
				paths = append(paths, string(f.path))
			}
			return same
		})
		out = append(out, first.message(strings.Join(paths, ", "), more))
	}
	return out
}

func (f finding) message(paths string, attrs []slog.Attr) Message {
	text, reason := paths+": "+f.check.Mechanism, "by"
	switch {
	case strings.HasPrefix(f.check.Mechanism, refusedWord):
		reason = "reason"
	case f.level == slog.LevelError:
		text = "UNSAFE: " + text
	}
	attrs = append(slices.Clone(attrs), slog.String(reason, f.check.Detail))
	if f.check.Remedy != "" {
		attrs = append(attrs, slog.String("fix", f.check.Remedy))
	}
	return Message{f.level, text, attrs}
}

// choiceMessages say which backend was chosen, and why not those before it.
func (p Policy) choiceMessages() []Message {
	var out []Message
	for _, t := range p.selection.Tried {
		if t.Err == nil {
			continue
		}
		text, level := "backend passed over", slog.LevelInfo
		if t.Backend == p.selection.Backend {
			text, level = "the chosen backend is not ready", slog.LevelError
		}
		out = append(out, Message{level, text, []slog.Attr{slog.String("backend", t.Backend), slog.String("reason", t.Err.Error())}})
	}
	if err := p.selection.Err(); err != nil {
		return append(out, Message{slog.LevelError, "no sandbox: calls are refused", []slog.Attr{slog.String("reason", err.Error())}})
	}
	attrs := []slog.Attr{slog.String("backend", p.selection.Backend), slog.String("by", p.selection.From)}
	if dir := p.config.WorkspaceDir(); dir != "" {
		attrs = append(attrs, slog.String("workspace", dir))
	}
	return append(out, Message{slog.LevelInfo, "sandbox chosen", attrs})
}

// notReady is why the calls of a path would be refused by the backend of their decision, as it answered at the start. What
// works in the caller's process waits for the chosen backend, unless the operator needs none.
func (p Policy) notReady(path Path, d Decision) error {
	backend := d.Backend
	if d.Level == Contained {
		if p.config.Sandbox.Unsandboxed() {
			return nil
		}
		backend = p.selection.Backend
	}
	for _, a := range p.answers {
		if a.Path == path && a.Backend == backend {
			return a.Err
		}
	}
	return p.selection.probeErr(backend)
}

// grantMessages say what the operator allows beyond the hardened profile.
func (p Policy) grantMessages() []Message {
	var out []Message
	if n := p.config.Executor.Granted(); n != "" {
		out = append(out, Message{slog.LevelWarn, "a network is granted to Python tools, and to run_code and install_library on request", []slog.Attr{
			slog.String("network", n), slog.String("by", p.config.Origin("executor.docker_network").String()),
		}})
	}
	if p.config.Sandbox.ScratchExec {
		out = append(out, Message{slog.LevelWarn, "programs on the scratch may run", []slog.Attr{
			slog.String("by", p.config.Origin("runtime.sandbox.scratch_exec").String()),
		}})
	}
	return out
}

// Offered reports whether the operator lets a gateway offer a path to an agent: builtins belong to the agents of
// runtime.allow_system_agents. Whether the agent also asks for them is the gateway's to know, and so is the answer to a
// call of what was not offered.
func Offered(c *config.Config, path Path, agent string) bool {
	return !path.Builtin() || slices.Contains(c.Runtime.AllowSystemAgents, agent)
}
