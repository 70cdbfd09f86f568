package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Name is a tool's name, as a model calls it.
type Name string

// The tools.
const (
	NameRunCode        Name = "run_code"
	NameShellExec      Name = "shell_exec"
	NameRunScript      Name = "run_script"
	NamePythonEval     Name = "python_eval"
	NameInstallLibrary Name = "install_library"
	NameWriteFile      Name = "write_file"
	NameDownloadFile   Name = "download_file"
	NameReadFile       Name = "read_file"
	NameListFiles      Name = "list_files"
)

// The ways of an agent's and a plugin's own tools, which a model calls by names of their own; see [Tools.PythonFile],
// [Tools.Inline] and [Tools.Plugin].
const (
	NamePythonFile Name = "python_file"
	NameInline     Name = "inline"
	NamePlugin     Name = "plugin"
)

// ownTool reports whether n is the way of an agent's or a plugin's own tool.
func (n Name) ownTool() bool { return n == NamePythonFile || n == NameInline || n == NamePlugin }

// inProcess reports whether the tool runs no program.
func (n Name) inProcess() bool {
	return n == NameWriteFile || n == NameDownloadFile || n == NameReadFile || n == NameListFiles
}

// WorkspaceTarget is where the programs of the builtins find [Tools].Workspace.
const WorkspaceTarget = "/workspace"

// IsolationSandbox is the one isolation that a call can ask for.
const IsolationSandbox = "sandbox"

// Request is a call as its decision needs it.
type Request struct {
	// Tool is the tool that is called.
	Tool Name
	// Agent is the agent that calls, [Tools].Agent.
	Agent string
	// Language is run_code's: "python", "node" or "bash". "" for every other tool.
	Language string
	// Isolation is what the call itself asks for: "" or IsolationSandbox.
	Isolation string
	// Network is whether the call asks for a network.
	Network bool
}

// Place is where a call runs. The zero value is nowhere.
type Place struct {
	// Backend runs the call. For a tool that works in the caller's own process it only has to be ready; nil there means
	// that nothing has to be.
	Backend sandbox.Backend
	// Profile is what the call runs under. The tool adds its own mounts and narrows limits; it never widens anything
	// but the time: a tool's own cap replaces Profile.Limits.Wall, see MaxTimeout.
	Profile sandbox.ContainerProfile
	// MaxTimeout is the longest time that the operator allows. 0 leaves it at the tool's own cap.
	MaxTimeout time.Duration
	// OnHost says that Backend shows the host's own files and no mounts, so that paths are the host's.
	OnHost bool
	// Python is the host's interpreter for an agent's and a plugin's own tools when OnHost is set: a name or a path. ""
	// is python3. In a sandbox the interpreter is the image's, or the first of Profile.Interpreters.
	Python string
}

// Chooser decides where a call runs.
type Chooser interface {
	// Choose returns the place for r, or an error of kind [sandbox.KindRefused] or [sandbox.KindUnavailable].
	Choose(ctx context.Context, r Request) (Place, error)
}

// Tools are the tools for one agent. The zero value refuses every call. Fields are set before the first call; calls are
// safe for concurrent use.
type Tools struct {
	// Chooser decides. nil refuses.
	Chooser Chooser
	// Agent is the agent for which the tools are called, for the Chooser. "" is none in particular.
	Agent string
	// Workspace is the directory of the host that the builtins' programs see at WorkspaceTarget. "" makes shell_exec,
	// run_script and python_eval refuse; see [MakeWorkspace].
	Workspace string
	// Roots are the directories that write_file, read_file, list_files and download_file stay inside. A relative path
	// belongs to the first. Empty means Workspace alone, and without one everything is refused.
	Roots []string
	// Protected are files that these tools neither read nor write, though a root may hold them: the operator's
	// configuration, which says what an agent may. One that is not there is protected once it is.
	Protected []string
	// TempDir is where a call's code and output lie meanwhile. "" means [os.TempDir].
	TempDir string
	// Artifacts bounds what run_code brings back.
	Artifacts ArtifactLimits
	// Download bounds download_file.
	Download DownloadRules
	// Python is what holds for the agent's and plugins' own tools.
	Python PythonRules
	// Ahead keeps sandboxes ready for the next calls. nil keeps none. It can be shared by the tools of many agents.
	Ahead *Ahead
}

// Final reports whether trying again cannot help: the call was refused, cannot be meant, has nowhere to run, or its
// caller gave up.
func Final(err error) bool {
	for _, target := range []error{
		sandbox.ErrRefused, sandbox.ErrInvalid, sandbox.ErrUnavailable, context.Canceled,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// enter is the chokepoint: every tool comes through here before it does anything.
func (t Tools) enter(ctx context.Context, r Request) (Place, error) {
	r.Agent = t.Agent
	p, err := t.choose(ctx, r)
	if err != nil && r.Tool != NameRunCode && !r.Tool.ownTool() {
		err = refusedTool(r.Tool, err)
	}
	return p, err
}

func (t Tools) choose(ctx context.Context, r Request) (Place, error) {
	if r.Isolation != "" && r.Isolation != IsolationSandbox {
		return Place{}, sandbox.Invalid("isolation", "%q is none to ask for; use %q or leave it out", short(r.Isolation), IsolationSandbox)
	}
	if t.Chooser == nil {
		return Place{}, refused("", "isolation is unavailable; refusing host execution")
	}
	p, err := t.Chooser.Choose(ctx, r)
	if err != nil {
		return Place{}, err
	}
	if r.Tool.inProcess() {
		return p, p.ready(ctx, r)
	}
	return p.narrow(r)
}

// ready asks the backend that a tool of the caller's own process depends on. The tool itself runs in no sandbox, so that
// a call which insists on one is refused.
func (p Place) ready(ctx context.Context, r Request) error {
	if r.Isolation != "" {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "isolation", Cause: errors.New("a sandbox was asked for, and this works in the caller's own process"),
			Fix: "leave isolation out: it runs no program, and stays inside the roots; or use shell_exec",
		}
	}
	if p.Backend == nil {
		return nil
	}
	_, err := p.Backend.Ready(ctx, p.Profile)
	return err
}

// narrow checks that a place keeps what the request needs, and takes away what it did not ask for. The network of an
// agent's own tools is the operator's word alone.
func (p Place) narrow(r Request) (Place, error) {
	switch {
	case p.Backend == nil:
		return Place{}, refused("", "isolation is unavailable; refusing host execution")
	case p.OnHost && r.Isolation == IsolationSandbox:
		return Place{}, refused("isolation", "a sandbox was asked for, and the operator runs this on the host")
	case p.MaxTimeout < 0:
		return Place{}, sandbox.Invalid("timeout", "%s is negative", p.MaxTimeout)
	}
	off := p.Profile.Network == "" || p.Profile.Network == sandbox.NetworkNone
	if r.Network && off && !p.OnHost {
		return Place{}, &sandbox.Error{
			Kind: sandbox.KindRefused, Guarantee: sandbox.NetNone, Cause: errors.New("a network was asked for, and the operator grants none"),
			Fix: "leave network out, or let the operator grant one",
		}
	}
	if !r.Network && !r.Tool.ownTool() {
		p.Profile.Network = sandbox.NetworkNone
	}
	return p, nil
}

// cap is how long a call may take: what was asked for, or def, and no more than longest or the operator's word.
func (p Place) cap(asked, def, longest time.Duration) time.Duration {
	if p.MaxTimeout > 0 {
		longest = min(longest, p.MaxTimeout)
	}
	if asked <= 0 {
		asked = def
	}
	return min(asked, longest)
}

func refused(op, why string) error {
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Cause: errors.New(why)}
}

// refusedTool names the tool in an error and leaves it what it is.
func refusedTool(n Name, err error) error {
	return fmt.Errorf("privileged tool %q refused: %w", string(n), err)
}

// short keeps a message readable when a value in it is not.
func short(s string) string {
	if len(s) > 120 {
		return cutString(s, 100) + "…"
	}
	return s
}
