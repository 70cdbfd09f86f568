package config

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Config is an effective configuration: every value is what holds, defaults filled in. The zero value isolates
// everything and leaves the choice of the backend open; [Parse] of an empty file gives the defaults.
type Config struct {
	// File is the absolute path of the file; "" when there is none.
	File string
	// Sandbox is runtime.sandbox.
	Sandbox Sandbox
	// Executor is executor.
	Executor Executor
	// Runtime is what is read of runtime beside sandbox.
	Runtime Runtime
	// LogLevel is what the environment's TOOLCELL_LOG asks for, error if nothing.
	LogLevel slog.Level
	// GOOS is the operating system that the defaults are for.
	GOOS string
	// Warnings are what an operator should know and what stopped nothing.
	Warnings []*Problem

	origins map[string]Origin
}

// Sandbox is runtime.sandbox. In the file 0 means the default for each number.
type Sandbox struct {
	// Mode governs builtins and run_code. "" means ModeSandbox.
	Mode Mode
	// Binary is the backend: one of Backends, Auto, or the absolute path of an engine's command. "" in a zero value is
	// GOOS's default.
	Binary string
	// Runtime is "", "runsc" or "kata"; engines only.
	Runtime string
	// Image is what builtins find as their root. "" means the backend's own.
	Image string
	// Images maps image names to "host" or an unpacked root directory; native only, and `toolcell run`.
	Images map[string]string
	// Workspace is the gateway's workspace. "" means that there is none, and every builtin refuses.
	Workspace string
	// Roots are the directories that the file tools stay inside; see [Config.Roots]. Empty means the workspace.
	Roots []string
	// Limits bounds each call. Wall is timeout_seconds.
	Limits sandbox.Limits
	// PIDs is the number of processes and threads.
	PIDs int
	// TmpMB and ShmMB are the sizes of /tmp and /dev/shm in MiB.
	TmpMB, ShmMB int
	// ScratchExec lets programs on the scratch run.
	ScratchExec bool
	// Armed has sandboxes stand ready for the calls that are likely to come. On engines it is off unless it was written
	// down.
	Armed bool
	// Preload names modules that a Python which stands ready has imported, and Pin leaves what it had by then to the kernel
	// at its end; see [sandbox.Arming]. Programs can see both.
	Preload []string
	Pin     bool
	// PythonTools is the least isolation of file, inline and plugin tools. "" means ToolsContainer.
	PythonTools PythonTools
	// RunCode holds run_code's images.
	RunCode RunCodeImages
	// Require names guarantees beyond the backend's own required set.
	Require []sandbox.Guarantee
	// Waive names the guarantees that may be missing.
	Waive []sandbox.Guarantee

	disabled bool // enabled: false, the old spelling of ModeUnsandboxed
}

// RunCodeImages are run_code's images. "" means the backend's own.
type RunCodeImages struct {
	Python, Node, Bash string
}

// Executor is executor: file, inline and plugin tools.
type Executor struct {
	// Backend is where tools run whose agent asks for nothing. "" in a Config that was not parsed is the floor's place.
	Backend Execution
	// Image is what tools find as their root. "" means the backend's own.
	Image string
	// Network is "none" or the engine's network that the operator grants. "" means "none"; see [Executor.Granted].
	Network string
	// User is "auto", "image" or "uid:gid".
	User string
	// Volumes are mounts in the notation of sandbox.ParseMount.
	Volumes []string
}

// Granted is the engine's network that the operator grants; "" is none.
func (e Executor) Granted() string {
	if e.Network == sandbox.NetworkNone {
		return ""
	}
	return e.Network
}

// Runtime is what is read of runtime beside sandbox.
type Runtime struct {
	// PythonBin is the host's interpreter: a name or a path. It never names anything inside an image.
	PythonBin string
	// ToolTimeout is the wall-clock limit of a Python tool. 0 means Sandbox.Limits.Wall.
	ToolTimeout time.Duration
	// AllowedToolDirs are the directories that python_file tools may lie below. Empty means anywhere.
	AllowedToolDirs []string
	// AllowSystemAgents are the ids of the agents that may be offered builtins.
	AllowSystemAgents []string
}

// Unsandboxed reports whether builtins and run_code run on the host.
func (s Sandbox) Unsandboxed() bool { return s.Mode == ModeUnsandboxed }

// Backend is the backend that isolates: Sandbox.Binary, or what stands for it in a Config that was not parsed.
func (c *Config) Backend() string {
	if c.Sandbox.Binary != "" {
		return c.Sandbox.Binary
	}
	return DefaultBackend(c.GOOS)
}

// ToolBackend is the backend that isolates Python tools: the one that executor.backend insists on, else [Config.Backend].
func (c *Config) ToolBackend() string {
	if exact := c.Executor.Backend.Exact(); exact != "" {
		return exact
	}
	return c.Backend()
}

// Waivers returns the operator's waivers, each with the place where it was written as its reason.
func (c *Config) Waivers() []sandbox.Waiver {
	var out []sandbox.Waiver
	for _, g := range c.Sandbox.Waive {
		out = append(out, sandbox.Waiver{Guarantee: g, Reason: c.Origin(sandboxPath + ".waive").String()})
	}
	return out
}

// WorkspaceDir is the one directory of the workspace that builtins see, at [WorkspaceTarget]. "" means that there is none.
func (c *Config) WorkspaceDir() string {
	if c.Sandbox.Workspace == "" {
		return ""
	}
	return filepath.Join(c.Sandbox.Workspace, "data", "sandbox")
}

// Roots are the directories that write_file, read_file, list_files and download_file stay inside: sandbox.roots, or else the
// workspace. Without either there are none.
func (c *Config) Roots() []string {
	if len(c.Sandbox.Roots) > 0 || c.Sandbox.Workspace == "" {
		return c.Sandbox.Roots
	}
	return []string{c.Sandbox.Workspace}
}
