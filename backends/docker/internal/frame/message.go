package frame

import "time"

// Message is what a frame can hold as JSON: a pointer to [Call], [Failure] or [Ending].
type Message interface{ message() }

// Call is what init does. Strings are bytes, since a path or a variable need not be UTF-8.
type Call struct {
	// Argv is the program and its arguments. A program without a slash is looked up in Env's PATH.
	Argv [][]byte `json:"argv"`
	// Env is the whole environment of the program.
	Env [][]byte `json:"env"`
	// Dir is the working directory.
	Dir []byte `json:"dir"`
	// Scratch lists directories to be made first, mode 0700, parents before children.
	Scratch []string `json:"scratch,omitempty"`
	// Places are the files and directories that have to be at their paths, whatever the engine mounted there.
	Places []Place `json:"places,omitempty"`
	// Noexec lists paths below which nothing may be executed.
	Noexec [][]byte `json:"noexec,omitempty"`
	// Stdin says that input follows. Without it the program reads from /dev/null.
	Stdin bool `json:"stdin,omitempty"`
	// OpenFiles and FileBytes are the program's resource limits. 0 leaves one alone.
	OpenFiles uint64 `json:"open_files,omitempty"`
	FileBytes uint64 `json:"file_bytes,omitempty"`
	// RlimitCPU is the CPU time of a single process in seconds. 0 leaves the limit alone.
	RlimitCPU uint64 `json:"rlimit_cpu,omitempty"`
	// Timeout is the wall-clock limit from the program's start.
	Timeout time.Duration `json:"timeout"`
	// CPU is the limit on the CPU time of the whole tree.
	CPU time.Duration `json:"cpu"`
	// Tasks is how many tasks of the container's limit are init's own. Init uses exactly so many.
	Tasks int `json:"tasks,omitempty"`
	// Keep leaves alone what the program leaves running, for the calls after it.
	Keep bool `json:"keep,omitempty"`
	// Root allows a program that is root, which the operator has waived.
	Root bool `json:"root,omitempty"`
}

// Place is what has to be at a path: one file or directory of a file system, as stat(2) tells it.
type Place struct {
	Path []byte `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// Cause says what ended a call, when it was not the program itself.
type Cause string

// The causes.
const (
	CauseNone    Cause = ""
	CauseTimeout Cause = "timeout"
	CauseCPU     Cause = "cpu"
	CauseOOM     Cause = "oom"
	CauseKill    Cause = "kill"
)

// Ending is how a call ended.
type Ending struct {
	// Cause is what init ended the call for.
	Cause Cause `json:"cause,omitempty"`
	// Exited says that the program was waited for; Status is then its wait status.
	Exited bool   `json:"exited,omitempty"`
	Status uint32 `json:"status"`
	// User and System are the CPU time of the whole tree.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	// MaxMemory and MaxProcesses are the peaks; nil when they were not measured.
	MaxMemory    *int64 `json:"max_memory,omitempty"`
	MaxProcesses *int64 `json:"max_processes,omitempty"`
	// OOMKills counts processes that the kernel killed for memory, Forks those that the process limit prevented.
	OOMKills int64 `json:"oom_kills,omitempty"`
	Forks    int64 `json:"forks,omitempty"`
}

// Class says what a failure means to a caller.
type Class string

// The classes.
const (
	ClassSetup         Class = "setup"
	ClassInvalid       Class = "invalid"
	ClassRoot          Class = "root"
	ClassNoexec        Class = "noexec"
	ClassMount         Class = "mount"
	ClassSession       Class = "session"
	ClassNotFound      Class = "not-found"
	ClassNotExecutable Class = "not-executable"
)

// Failure is why a program was not started.
type Failure struct {
	// Step is what failed, with its object.
	Step string `json:"step"`
	// Class is what it means.
	Class Class `json:"class"`
	// Errno is Linux's number, or 0; Text is its text, since the caller may be another system.
	Errno uint32 `json:"errno,omitempty"`
	Text  string `json:"text"`
}

func (*Call) message()    {}
func (*Failure) message() {}
func (*Ending) message()  {}
