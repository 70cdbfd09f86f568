package policy

import (
	"slices"

	"github.com/soulacy/toolcell/sandbox/config"
)

// Path is a way by which code reaches execution. There is no other one.
type Path string

// The paths.
const (
	// The builtins that run a program.
	ShellExec      Path = "shell_exec"
	RunScript      Path = "run_script"
	PythonEval     Path = "python_eval"
	InstallLibrary Path = "install_library"
	// The builtins that work in the caller's own process, contained in directories.
	WriteFile    Path = "write_file"
	ReadFile     Path = "read_file"
	ListFiles    Path = "list_files"
	DownloadFile Path = "download_file"
	// RunCode is the run_code tool.
	RunCode Path = "run_code"
	// PythonFile, Inline and Plugin are an agent's and a plugin's own tools. Code in a flow is Inline.
	PythonFile Path = "python_file"
	Inline     Path = "inline"
	Plugin     Path = "plugin"
)

// Paths returns every path, in the order of reports.
func Paths() []Path {
	return []Path{
		ShellExec, RunScript, PythonEval, InstallLibrary, WriteFile, ReadFile, ListFiles, DownloadFile, RunCode, PythonFile, Inline, Plugin,
	}
}

// Valid reports whether p is a path.
func (p Path) Valid() bool { return slices.Contains(Paths(), p) }

// PythonTool reports whether python_tools and executor.backend govern p, and not mode.
func (p Path) PythonTool() bool { return p == PythonFile || p == Inline || p == Plugin }

// Builtin reports whether p needs the workspace.
func (p Path) Builtin() bool { return !p.PythonTool() && p != RunCode }

// InProcess reports whether p works in the caller's own process.
func (p Path) InProcess() bool {
	return p == WriteFile || p == ReadFile || p == ListFiles || p == DownloadFile
}

// Request is one call as the policy sees it.
type Request struct {
	// Path is the way the call takes.
	Path Path
	// Agent is the agent that calls. The zero value asks for nothing.
	Agent config.Agent
	// Isolation is what the call itself asks for: "" for nothing, or config.IsolationSandbox.
	Isolation string
	// Network is whether the call asks for a network.
	Network bool
}

// Level is how isolated a call is. The zero value is not at all a way to run: it is the level of a refusal.
type Level string

// The levels, from the loosest.
const (
	// Unsandboxed is the host, without anything.
	Unsandboxed Level = "unsandboxed"
	// Limits is the host under resource limits: a guard against exhaustion, no boundary.
	Limits Level = "limits"
	// Contained is the caller's own process, whose file accesses stay inside directories.
	Contained Level = "contained"
	// Sandboxed is a sandbox.
	Sandboxed Level = "sandbox"
)

// below reports whether a call at level l is less isolated than one at other.
func (l Level) below(other Level) bool {
	order := []Level{"", Unsandboxed, Limits, Contained, Sandboxed}
	return slices.Index(order, l) < slices.Index(order, other)
}

// Host is the name of the backend that runs on the host; see [Decision].Backend.
const Host = "host"

// Decision is where a call runs. The zero value runs nowhere.
type Decision struct {
	// Level is how isolated the call is.
	Level Level
	// Backend is who runs it: for Sandboxed a backend's name or an engine's path, Host for Limits and Unsandboxed, ""
	// for Contained.
	Backend string
	// Network is the engine's network that the operator grants to the call; "" is none.
	Network string
	// Why is what decided, in one line, with where that was written.
	Why string
}
