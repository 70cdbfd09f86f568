package config

import (
	"fmt"
	"slices"
)

// check compares the values with each other: what the chosen backend cannot honour, and what contradicts itself. A key
// that would be passed over is an error, since the operator believes in it.
func (c *Config) check(d *decoder) {
	c.checkNative(d)
	c.checkFloor(d)
	c.checkGuarantees(d)
	if err := c.ToolProfile(c.ToolBackend()).Validate(); err != nil {
		d.contradiction(executorPath+".docker_volumes", reason(err).Error(), "")
	}
}

// checkNative refuses what only a container engine can do where there is none.
func (c *Config) checkNative(d *decoder) {
	tools := c.ToolBackend()
	by := fmt.Sprintf("the native backend (%s.binary: %s)", sandboxPath, c.Origin(sandboxPath+".binary"))
	if c.Executor.Backend == ExecutionNative {
		by = fmt.Sprintf("the native backend (%s.backend: %s)", executorPath, c.Origin(executorPath+".backend"))
	}
	if c.Sandbox.Runtime != "" && (c.Backend() == Native || tools == Native) {
		d.contradiction(sandboxPath+".runtime", by+" has no engine's runtime", "leave it out, or set binary: docker")
	}
	if tools != Native {
		return
	}
	if c.Executor.Granted() != "" {
		d.contradiction(executorPath+".docker_network", by+" has no network to grant", "use none, or set runtime.sandbox.binary: docker")
	}
	if c.Executor.User == userImage {
		d.contradiction(executorPath+".docker_user", by+" has no image's user", "use auto or uid:gid, or set runtime.sandbox.binary: docker")
	}
}

// checkFloor refuses a default for Python tools that lies below their floor.
func (c *Config) checkFloor(d *decoder) {
	if !c.Executor.Backend.Limits() || c.Sandbox.PythonTools == ToolsLimits {
		return
	}
	key := sandboxPath + ".python_tools"
	d.contradiction(executorPath+".backend",
		fmt.Sprintf("%s runs tools on the host under resource limits, and %s: %s (%s) is the least isolation", c.Executor.Backend, key, c.Sandbox.PythonTools, c.Origin(key)),
		"use docker, or set "+key+": limits")
}

func (c *Config) checkGuarantees(d *decoder) {
	key := sandboxPath + ".waive"
	for _, g := range c.Sandbox.Waive {
		if slices.Contains(c.Sandbox.Require, g) {
			d.contradiction(key, fmt.Sprintf("%s is also required, on line %d", g, c.Origin(sandboxPath+".require").Line), "remove it from one of the lists")
		}
	}
}
