// Package policy decides where a tool's call runs: in a sandbox and by which backend, on the host under resource limits,
// on the host without anything, or not at all. It is the one place of that decision; every path a call can take asks
// it.
//
// Everything here is a pure function of the operator's configuration, what the backends answered at the start, the
// agent's manifest and the call. Nothing is probed, and nothing changes after the start: a backend that fails later
// makes calls fail, never run elsewhere.
//
// # The rule
//
// The operator sets a floor. An agent or a call may ask for more isolation and gets it or a refusal; asking for less is
// refused with both named, and never quietly corrected. What is not known, be it a backend, an isolation or a path, is
// refused. Only the configuration file can put a call on the host.
//
// The floor of builtins and run_code is runtime.sandbox.mode, that of file, inline and plugin tools
// runtime.sandbox.python_tools. Where nothing is asked for, builtins run at their floor and tools where executor.backend
// says.
//
// # What it does not protect
//
// A decision is no confinement: it names a backend, whose own report says what holds. Resource limits are a guard
// against exhaustion and no boundary, on every system.
package policy
