package config

import (
	"path/filepath"
	"slices"

	"github.com/soulacy/toolcell/sandbox"
)

// WorkspaceTarget is where builtins find [Config.WorkspaceDir].
const WorkspaceTarget = "/workspace"

// Profile is what every call has in common: the limits, the engine's runtime and the guarantees to require.
func (c *Config) Profile() sandbox.ContainerProfile {
	s := c.Sandbox
	return sandbox.ContainerProfile{
		Limits: s.Limits, PIDs: s.PIDs, TmpfsMB: s.TmpMB, ShmMB: s.ShmMB,
		ScratchExec: s.ScratchExec, Runtime: s.Runtime, Require: slices.Clone(s.Require),
	}.WithDefaults()
}

// BuiltinProfile is the profile of shell_exec, run_script, python_eval and install_library: the workspace's directory is
// mounted, and the network is off. The caller makes the directory.
func (c *Config) BuiltinProfile() sandbox.ContainerProfile {
	p := c.Profile()
	p.Image = c.Sandbox.Image
	if dir := c.WorkspaceDir(); dir != "" {
		p.Workdir = WorkspaceTarget
		p.Binds = []sandbox.Mount{{Source: dir, Target: WorkspaceTarget, Writable: true, Exec: true}}
	}
	return p
}

// ToolProfile is the profile of file, inline and plugin tools on that backend: executor's image, network, user and
// volumes. The tool's own directory is the caller's to add.
func (c *Config) ToolProfile(backend string) sandbox.ContainerProfile {
	p := c.Profile()
	p.Image = c.Executor.Image
	p.Mounts = slices.Clone(c.Executor.Volumes)
	if c.Executor.User != userImage { // the image's user is what auto means to a backend opened so
		p.User = c.Executor.User
	}
	if IsEngine(backend) {
		p.Network = c.Executor.Network
	}
	if c.Runtime.ToolTimeout > 0 {
		p.Limits.Wall = c.Runtime.ToolTimeout
	}
	if bin := c.Runtime.PythonBin; backend == Native && filepath.IsAbs(bin) {
		p.Interpreters = []string{bin}
	}
	return p.WithDefaults()
}

// RunCodeProfile is the profile of run_code with that language's image: no mount, no network, and the lower of 256 and
// the configured number of processes. An unknown language gets the backend's own image.
func (c *Config) RunCodeProfile(language string) sandbox.ContainerProfile {
	p := c.Profile()
	p.PIDs = min(p.PIDs, 256)
	switch language {
	case "python":
		p.Image = c.Sandbox.RunCode.Python
	case "node":
		p.Image = c.Sandbox.RunCode.Node
	case "bash":
		p.Image = c.Sandbox.RunCode.Bash
	}
	return p
}

// KeepsImageUser reports whether engines are to keep the image's own user.
func (c *Config) KeepsImageUser() bool { return c.Executor.User == userImage }
