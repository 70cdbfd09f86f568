package sandbox

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Status says how a program's run ended.
type Status string

// The statuses.
const (
	// StatusExited: the program ended by itself; ExitCode holds its code.
	StatusExited Status = "exited"
	// StatusSignaled: a signal ended the program; Signal names it.
	StatusSignaled Status = "signaled"
	// StatusTimeout: the wall-clock limit was reached.
	StatusTimeout Status = "timeout"
	// StatusCPUTimeout: the CPU time limit was reached.
	StatusCPUTimeout Status = "cpu_timeout"
	// StatusOOM: the memory limit was reached and the whole tree was killed.
	StatusOOM Status = "oom"
	// StatusFileSize: the program was killed for growing a file beyond the limit (SIGXFSZ).
	StatusFileSize Status = "file_size"
	// StatusCanceled: the caller's context ended first.
	StatusCanceled Status = "canceled"
)

// Usage is what a run consumed. A nil field was not measured; it is null in JSON, never 0.
type Usage struct {
	// Wall is the time from the request to the end of the sandbox.
	Wall time.Duration
	// User and System are the CPU time of the whole tree.
	User, System *time.Duration
	// MaxMemory is the peak memory of the whole tree in bytes.
	MaxMemory *int64
	// MaxProcesses is the peak number of processes and threads.
	MaxProcesses *int64
}

// CPU returns user and system time together, or nil when either is unknown.
func (u Usage) CPU() *time.Duration {
	if u.User == nil || u.System == nil {
		return nil
	}
	d := *u.User + *u.System
	return &d
}

// Artifact is one file that a run left behind for its caller.
type Artifact struct {
	// Path is the path inside the sandbox.
	Path string `json:"path"`
	// Size is the size in bytes.
	Size int64 `json:"size"`
}

// Result is what a program did. Every limit, signal and exit code is a Result; see [Backend.Run] for what is an error.
type Result struct {
	// ID is the call's ID, given or made.
	ID string
	// Backend is the name of the backend that ran it.
	Backend string
	// Status says how the run ended. The zero value "" means that there was no run.
	Status Status
	// ExitCode is the program's exit code when Status is StatusExited, and -1 otherwise.
	ExitCode int
	// Signal is the name of the signal that ended the program ("SIGKILL") when Status is StatusSignaled or
	// StatusFileSize, and "" otherwise: a program that the sandbox itself killed has none.
	Signal string
	// SignalNumber is that signal's number on the host, or 0. It makes the CLI's 128+n.
	SignalNumber int
	// Stdout and Stderr are the first bytes of each stream, up to the output limit.
	Stdout, Stderr []byte
	// StdoutTruncated and StderrTruncated say that there was more than was kept.
	StdoutTruncated, StderrTruncated bool
	// StdoutBytes and StderrBytes count everything the program wrote, kept or not.
	StdoutBytes, StderrBytes int64
	// Usage is what the run consumed.
	Usage Usage
	// Artifacts lists files left for the caller.
	Artifacts []Artifact
	// Enforcement is the report that the call ran under.
	Enforcement Report
	// Hints say in words what the sandbox did to the program, when it knows.
	Hints []string
}

// resultJSON is the schema of a Result in JSON: one for the CLI, MCP and the daemon.
type resultJSON struct {
	ID              string        `json:"id"`
	Backend         string        `json:"backend"`
	Status          Status        `json:"status"`
	ExitCode        *int          `json:"exit_code"`
	Signal          *string       `json:"signal"`
	Stdout          *string       `json:"stdout,omitempty"`
	StdoutBase64    *string       `json:"stdout_base64,omitempty"`
	Stderr          *string       `json:"stderr,omitempty"`
	StderrBase64    *string       `json:"stderr_base64,omitempty"`
	StdoutTruncated bool          `json:"stdout_truncated"`
	StderrTruncated bool          `json:"stderr_truncated"`
	StdoutBytes     int64         `json:"stdout_bytes"`
	StderrBytes     int64         `json:"stderr_bytes"`
	DurationMS      float64       `json:"duration_ms"`
	CPUMS           *float64      `json:"cpu_ms"`
	MaxMemory       *int64        `json:"max_memory_bytes"`
	MaxProcesses    *int64        `json:"max_processes"`
	Artifacts       []Artifact    `json:"artifacts"`
	Enforcement     []Enforcement `json:"enforcement"`
	Hints           []string      `json:"hints"`
}

// MarshalJSON writes the one schema that every program of this module shows. Output that is not UTF-8 travels in
// stdout_base64 and stderr_base64 instead of stdout and stderr. What was not measured is null; lists are never null.
func (r Result) MarshalJSON() ([]byte, error) {
	j := resultJSON{
		ID: r.ID, Backend: r.Backend, Status: r.Status,
		StdoutTruncated: r.StdoutTruncated, StderrTruncated: r.StderrTruncated,
		StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes,
		DurationMS: milliseconds(r.Usage.Wall), MaxMemory: r.Usage.MaxMemory, MaxProcesses: r.Usage.MaxProcesses,
		Artifacts: orEmpty(r.Artifacts), Enforcement: orEmpty(r.Enforcement), Hints: orEmpty(r.Hints),
	}
	if r.Status == StatusExited {
		j.ExitCode = &r.ExitCode
	}
	if r.Signal != "" && (r.Status == StatusSignaled || r.Status == StatusFileSize) {
		j.Signal = &r.Signal
	}
	if d := r.Usage.CPU(); d != nil {
		ms := milliseconds(*d)
		j.CPUMS = &ms
	}
	j.Stdout, j.StdoutBase64 = textOrBase64(r.Stdout)
	j.Stderr, j.StderrBase64 = textOrBase64(r.Stderr)
	return json.Marshal(j)
}

func textOrBase64(b []byte) (text, encoded *string) {
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return nil, &s
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

func orEmpty[S ~[]E, E any](s S) S {
	if s == nil {
		return S{}
	}
	return s
}

// errorJSON is the schema of an [Error] in JSON.
type errorJSON struct {
	Kind      Kind   `json:"kind"`
	Message   string `json:"message"`
	Guarantee string `json:"guarantee,omitempty"`
	Cause     string `json:"cause"`
	Fix       string `json:"fix,omitempty"`
}

// MarshalJSON writes kind, message, guarantee, cause and fix.
func (e *Error) MarshalJSON() ([]byte, error) {
	j := errorJSON{Kind: e.Kind, Message: e.Error(), Guarantee: string(e.Guarantee), Fix: e.Fix}
	if e.Cause != nil {
		j.Cause = oneLine(e.Cause.Error())
	}
	return json.Marshal(j)
}
