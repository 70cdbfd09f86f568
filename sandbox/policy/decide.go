package policy

import (
	"fmt"
	"slices"

	"github.com/soulacy/toolcell/sandbox/config"
)

// Policy decides for every call. The zero value refuses them all.
type Policy struct {
	config     *config.Config
	selection  Selection
	registered []string
	answers    []Answer
}

// New returns the policy of a configuration and the choice made for it. registered names the backends that the program
// has opened beside the chosen one; a call that insists on any other is refused.
func New(c *config.Config, s Selection, registered ...string) Policy {
	return Policy{config: c, selection: s, registered: slices.Clone(registered)}
}

// Answer is what a backend answered about the calls of one path.
type Answer struct {
	Path    Path
	Backend string
	// Err is why a call would be refused; nil when it would not.
	Err error
}

// WithAnswers returns a copy of p whose messages and checks know these answers. They change no decision: a backend that
// cannot run a call refuses it itself.
func (p Policy) WithAnswers(answers ...Answer) Policy {
	p.answers = slices.Clone(answers)
	return p
}

// Selection is the choice that the policy was made with.
func (p Policy) Selection() Selection { return p.selection }

// demand is one voice in the decision: how isolated, by which backend ("" for the chosen one), and whose word it is. A
// demand that speaks of backends at all replaces an earlier one of the same level.
type demand struct {
	level      Level
	ofBackends bool
	backend    string
	word       string
	from       string
}

func (d demand) String() string { return d.word + " (" + d.from + ")" }

// Decide says where a call runs, or refuses it with an error of kind [sandbox.KindRefused], whose cause is a [*Refusal],
// or [sandbox.KindUnavailable].
func (p Policy) Decide(r Request) (Decision, error) {
	if p.config == nil {
		return Decision{}, p.refuse(r, &Refusal{Why: "no configuration"}, "")
	}
	if err := p.known(r); err != nil {
		return Decision{}, err
	}
	if p.noWorkspace(r.Path) {
		return Decision{}, p.refuse(r, &Refusal{Why: "there is no workspace"}, "set runtime.sandbox.workspace")
	}
	floor, chosen := p.floor(r.Path), p.byDefault(r.Path)
	for _, asked := range agentDemands(r) {
		if asked.level.below(floor.level) {
			return Decision{}, p.refuseLooser(r, floor, asked)
		}
		if asked.ofBackends || asked.level != chosen.level {
			chosen = asked
		}
	}
	if r.Isolation == config.IsolationSandbox && chosen.level != Sandboxed {
		chosen = demand{level: Sandboxed, word: "isolation: sandbox", from: "the call"}
	}
	if r.Path.InProcess() {
		return p.contained(r, floor)
	}
	return p.place(r, floor, chosen)
}

// noWorkspace reports whether a path is one of the builtins, and they have no directory to work in.
func (p Policy) noWorkspace(path Path) bool {
	return path.Builtin() && p.config != nil && p.config.Sandbox.Workspace == ""
}

// known refuses what no decision can be about.
func (p Policy) known(r Request) error {
	switch {
	case !r.Path.Valid():
		return p.refuse(r, &Refusal{Why: fmt.Sprintf("%q is no path that a call can take", string(r.Path))}, "")
	case r.Path.PythonTool() && !p.config.Executor.Backend.Valid(): // no file has it
		return p.refuse(r, &Refusal{Why: fmt.Sprintf("%q is no executor.backend", string(p.config.Executor.Backend))}, "")
	case !r.Agent.Backend.Valid():
		return p.refuse(r, &Refusal{Why: fmt.Sprintf("%q is no backend", string(r.Agent.Backend)), Request: string(r.Agent.Backend)},
			"use docker, native, podman, nerdctl, local, process or pool")
	case r.Agent.PythonTools != "" && toolsLevel(r.Agent.PythonTools) == "":
		return p.refuse(r, &Refusal{Why: fmt.Sprintf("%q is no place for Python tools", string(r.Agent.PythonTools)), Request: string(r.Agent.PythonTools)},
			"use container or limits")
	case r.Agent.Backend != "" && r.Agent.PythonTools != "" && r.Agent.Backend.Limits() != (r.Agent.PythonTools == config.ToolsLimits):
		// A manifest that says so is an error of its own; a caller can make the value all the same.
		return p.refuse(r, &Refusal{
			Why:     fmt.Sprintf("python_tools: %s contradicts backend: %s", r.Agent.PythonTools, r.Agent.Backend),
			Request: string(r.Agent.Backend),
		}, "leave one of them out")
	}
	for _, s := range []string{r.Isolation, r.Agent.Isolation} {
		if s != "" && s != config.IsolationSandbox {
			return p.refuse(r, &Refusal{Why: fmt.Sprintf("%q is no isolation to ask for", s), Request: s}, "use sandbox, or leave it out")
		}
	}
	return nil
}

// floor is the least that the operator allows on a path.
func (p Policy) floor(path Path) demand {
	key := "runtime.sandbox.mode"
	d := demand{level: Sandboxed, word: "sandbox"}
	switch {
	case path.PythonTool():
		key = "runtime.sandbox.python_tools"
		d.word = string(config.ToolsContainer)
		if p.config.Sandbox.PythonTools == config.ToolsLimits {
			d.level, d.word = Limits, string(config.ToolsLimits)
		}
	case p.config.Sandbox.Unsandboxed():
		d.level, d.word = Unsandboxed, string(config.ModeUnsandboxed)
	}
	d.word, d.from = key+": "+d.word, p.config.Origin(key).String()
	return d
}

// byDefault is where a call runs that asks for nothing.
func (p Policy) byDefault(path Path) demand {
	floor := p.floor(path)
	e := p.config.Executor.Backend
	if !path.PythonTool() || e == "" {
		return floor
	}
	from := p.config.Origin("executor.backend")
	d := executionDemand(e, "executor.backend", from.String())
	switch {
	case d.level.below(floor.level): // a parsed configuration has no such thing
		return floor
	case from == config.Origin{} && d.level == floor.level && d.backend == "":
		return floor // it is the floor that says so
	default:
		return d
	}
}

// agentDemands are what the agent asks for on this path.
func agentDemands(r Request) []demand {
	a := r.Agent
	var out []demand
	if r.Path.PythonTool() && a.PythonTools != "" {
		out = append(out, demand{
			level: toolsLevel(a.PythonTools), word: "execution.python_tools: " + string(a.PythonTools), from: agentOrigin(a, "execution.python_tools"),
		})
	}
	if r.Path.PythonTool() && a.Backend != "" {
		out = append(out, executionDemand(a.Backend, "execution.backend", agentOrigin(a, "execution.backend")))
	}
	if a.Isolation == config.IsolationSandbox && !r.Path.InProcess() {
		out = append(out, demand{level: Sandboxed, word: "execution.isolation: sandbox", from: agentOrigin(a, "execution.isolation")})
	}
	return out
}

func agentOrigin(a config.Agent, key string) string {
	if o := a.Origin(key); o.Line != 0 {
		return o.String()
	}
	return "agent " + a.ID
}

// toolsLevel is the level that a word of python_tools means, "" for no such word.
func toolsLevel(t config.PythonTools) Level {
	switch t {
	case config.ToolsContainer:
		return Sandboxed
	case config.ToolsLimits:
		return Limits
	default:
		return ""
	}
}

func executionDemand(e config.Execution, key, from string) demand {
	d := demand{level: Sandboxed, ofBackends: true, backend: e.Exact(), word: key + ": " + string(e), from: from}
	if e.Limits() {
		d.level = Limits
	}
	return d
}

// place finds the backend for what was chosen.
func (p Policy) place(r Request, floor, chosen demand) (Decision, error) {
	d := Decision{Level: chosen.level, Why: chosen.String()}
	switch chosen.level {
	case Unsandboxed, Limits:
		d.Backend = Host
		if chosen.level == Limits && p.config.GOOS == "windows" {
			return Decision{}, p.refuse(r, &Refusal{Why: "Windows has no resource limits for a process", Floor: floor.String(), Request: chosen.String()},
				"set runtime.sandbox.python_tools: container and executor.backend: docker")
		}
		return d, nil
	case Sandboxed:
	default:
		return Decision{}, p.refuseLooser(r, floor, chosen)
	}
	if d.Backend = chosen.backend; d.Backend == "" {
		if err := p.selection.Err(); err != nil {
			return Decision{}, err
		}
		d.Backend = p.selection.Backend
	}
	if !p.has(d.Backend) {
		return Decision{}, p.refuseOther(r, floor, chosen)
	}
	if runtime := p.config.Sandbox.Runtime; runtime != "" && !config.IsEngine(d.Backend) {
		floor = demand{word: "runtime.sandbox.runtime: " + runtime, from: p.config.Origin("runtime.sandbox.runtime").String()}
		return Decision{}, p.refuseLooser(r, floor, chosen)
	}
	network, err := p.network(r, d.Backend)
	if err != nil {
		return Decision{}, err
	}
	d.Network = network
	return d, nil
}

// has reports whether the program opened that backend.
func (p Policy) has(backend string) bool {
	return backend == p.selection.Backend || slices.Contains(p.registered, backend)
}

// contained decides for what works in the caller's own process. It goes through the same chokepoint: where builtins are
// isolated and no sandbox is to be had, it is refused with them.
func (p Policy) contained(r Request, floor demand) (Decision, error) {
	if r.Isolation != "" {
		return Decision{}, p.refuse(r, &Refusal{
			Why: "it works in the gateway's own process", Floor: floor.String(), Request: "isolation: " + r.Isolation + " (the call)",
		}, "leave isolation out: it runs no program, and stays inside the roots; or use shell_exec")
	}
	if err := p.selection.Err(); err != nil && floor.level == Sandboxed {
		return Decision{}, err
	}
	return Decision{Level: Contained, Why: floor.String()}, nil
}

// network is what a sandboxed call gets: Python tools the operator's network, other paths only when they ask for it.
func (p Policy) network(r Request, backend string) (string, error) {
	granted := p.config.Executor.Granted()
	if !config.IsEngine(backend) {
		granted = ""
	}
	if granted == "" && r.Network {
		return "", p.refuseNetwork(r, backend)
	}
	if r.Path.PythonTool() || r.Network {
		return granted, nil
	}
	return "", nil
}
