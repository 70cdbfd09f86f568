package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

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

// BuiltinProfile is the profile of shell_exec, run_script, python_eval and install_library on that backend: the
// workspace's directory is mounted, and the network is off. The caller makes the directory.
func (c *Config) BuiltinProfile(backend string) sandbox.ContainerProfile {
	p := c.Profile()
	p.Image = c.image(c.Sandbox.Image, sandboxPath+".image", backend, pythonImage)
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
	p.Image = c.image(c.Executor.Image, executorPath+".docker_image", backend, pythonImage)
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

// HostProfile is the profile of calls that run on the host: the limits, and for Python tools their time. What only a
// sandbox has (images, networks, users, volumes, a runtime) means nothing there.
func (c *Config) HostProfile(tool bool) sandbox.ContainerProfile {
	p := c.Profile()
	p.Runtime = ""
	if tool && c.Runtime.ToolTimeout > 0 {
		p.Limits.Wall = c.Runtime.ToolTimeout
	}
	return p
}

// MaxTimeout is the longest time that the operator wrote down for calls of that kind. 0 means that nothing was written, and
// a tool's own cap holds. runtime.tool_timeout is no such bound: it is the time of a Python tool that names none itself.
func (c *Config) MaxTimeout(tool bool) time.Duration {
	switch {
	case tool && c.Runtime.ToolTimeout > 0:
		return 0
	case c.Origin(sandboxPath+".timeout_seconds") != Origin{}:
		return c.Sandbox.Limits.Wall
	default:
		return 0
	}
}

// RunCodeProfile is the profile of run_code on that backend with that language's image: no mount, no network, and the
// lower of 256 and the configured number of processes. An unknown language gets the backend's own image.
func (c *Config) RunCodeProfile(backend, language string) sandbox.ContainerProfile {
	p := c.Profile()
	p.PIDs = min(p.PIDs, 256)
	key := sandboxPath + ".run_code.images." + language
	switch language {
	case "python":
		p.Image = c.image(c.Sandbox.RunCode.Python, key, backend, pythonImage)
	case "node":
		p.Image = c.image(c.Sandbox.RunCode.Node, key, backend, nodeImage)
	case "bash":
		p.Image = c.image(c.Sandbox.RunCode.Bash, key, backend, bashImage)
	}
	return p
}

// image is an image's name on that backend. What nobody wrote down is the default of the backend that runs the call, also
// where that is another than the file's: auto has chosen it, or an agent insists on it.
func (c *Config) image(value, key, backend, engine string) string {
	mine := c.Backend()
	if strings.HasPrefix(key, executorPath) {
		mine = c.ToolBackend()
	}
	written := c.Origin(key) != Origin{}
	if value == "" || !written && value == defaultImage(mine, engine) {
		return defaultImage(backend, engine)
	}
	return value
}

// KeepsImageUser reports whether engines are to keep the image's own user.
func (c *Config) KeepsImageUser() bool { return c.Executor.User == userImage }
