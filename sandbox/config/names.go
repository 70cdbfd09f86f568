package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// The backends by name. A binary that is an absolute path is an engine as well.
const (
	Native  = "native"
	Docker  = "docker"
	Podman  = "podman"
	Nerdctl = "nerdctl"
	// Auto is the first backend, in the order of [Backends], whose required guarantees all hold.
	Auto = "auto"
)

// toolcell is another name of the native backend: it is what a gateway starts in docker's place.
const toolcell = "toolcell"

// Backends returns the named backends in the order in which auto tries them.
func Backends() []string { return []string{Native, Docker, Podman, Nerdctl} }

// IsEngine reports whether the backend of that name is a container engine's command: docker, podman, nerdctl or a path.
func IsEngine(backend string) bool {
	return backend == Docker || backend == Podman || backend == Nerdctl || filepath.IsAbs(backend)
}

// DefaultBackend is the backend of an operating system: native on Linux and docker elsewhere. The system decides, never
// what happens to be installed.
func DefaultBackend(goos string) string {
	if goos == "linux" {
		return Native
	}
	return Docker
}

// binaryWords are what runtime.sandbox.binary takes beside a path.
func binaryWords() []string { return append(Backends(), toolcell, Auto) }

// ParseBackend returns the backend that a value of runtime.sandbox.binary names: one of [Backends], [Auto] or an absolute
// path. "toolcell" is [Native]. "" stays "" and means the system's default. Anything else, "host" included, is an error
// of kind [sandbox.KindInvalid].
func ParseBackend(s string) (string, error) {
	word := fold(s)
	switch {
	case word == toolcell:
		return Native, nil
	case word == "" || slices.Contains(binaryWords(), word):
		return word, nil
	case filepath.IsAbs(strings.TrimSpace(s)):
		return filepath.Clean(strings.TrimSpace(s)), nil
	default:
		return "", &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "backend", Cause: fmt.Errorf("%s is no backend", quote(s)), Fix: "accepted: " + acceptedBinary(),
		}
	}
}

func acceptedBinary() string { return orList(append(binaryWords(), "an absolute path")) }

// Mode says whether builtins and run_code are isolated.
type Mode string

// The modes. The zero value is ModeSandbox.
const (
	ModeSandbox     Mode = "sandbox"
	ModeUnsandboxed Mode = "unsandboxed"
	modeDocker      Mode = "docker" // the old spelling of ModeSandbox
)

// PythonTools says where file, inline and plugin tools run at the least.
type PythonTools string

// The places of Python tools. The zero value is ToolsContainer.
const (
	// ToolsContainer is a sandbox.
	ToolsContainer PythonTools = "container"
	// ToolsLimits is the host, under resource limits: a guard against exhaustion, no boundary.
	ToolsLimits PythonTools = "limits"
)

// IsolationSandbox is the one thing that a call or an agent may ask for as its isolation.
const IsolationSandbox = "sandbox"

// Execution is a value of executor.backend or of an agent's execution.backend. "" asks for nothing.
type Execution string

// The executions.
const (
	// ExecutionSandbox is any sandbox: the one that runtime.sandbox.binary names. The word is the gateway's own.
	ExecutionSandbox Execution = "docker"
	// ExecutionNative, ExecutionPodman and ExecutionNerdctl are exactly that backend, or a refusal.
	ExecutionNative  Execution = Native
	ExecutionPodman  Execution = Podman
	ExecutionNerdctl Execution = Nerdctl
	// ExecutionLocal, ExecutionProcess and ExecutionPool are the host under resource limits.
	ExecutionLocal   Execution = "local"
	ExecutionProcess Execution = "process"
	ExecutionPool    Execution = "pool"
)

func executions() []Execution {
	return []Execution{
		ExecutionSandbox, ExecutionNative, ExecutionPodman, ExecutionNerdctl, ExecutionLocal, ExecutionProcess, ExecutionPool,
	}
}

// Valid reports whether e is known; "" is. What is not known is refused, never run anywhere.
func (e Execution) Valid() bool { return e == "" || slices.Contains(executions(), e) }

// Limits reports whether e asks for the host under resource limits.
func (e Execution) Limits() bool {
	return e == ExecutionLocal || e == ExecutionProcess || e == ExecutionPool
}

// Exact returns the backend that e insists on, or "".
func (e Execution) Exact() string {
	switch e {
	case ExecutionNative, ExecutionPodman, ExecutionNerdctl:
		return string(e)
	default:
		return ""
	}
}

// fold is how the words of the configuration are compared: as the gateway does, without case and outer spaces.
func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
