package host

import (
	"errors"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// job is what the supervisor is asked for, and what it hands on to the wrapper. Byte slices hold what is no text.
type job struct {
	Argv, Env [][]byte
	Dir       []byte
	Limits    Rlimits
	// Timeout is how long the program may take.
	Timeout time.Duration
	// Try is to set the limits and start nothing.
	Try bool
}

func (j job) wrapper() Wrapper {
	return Wrapper{Argv: texts(j.Argv), Env: texts(j.Env), Limits: j.Limits}
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

func octets(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// news is one message of the supervisor: whose group the program will be, that it was not started, or that it has ended.
type news struct {
	Fault *fault `json:",omitempty"`
	// Group is the program's process group, told before the program runs.
	Group int     `json:",omitempty"`
	End   *ending `json:",omitempty"`
}

// ending says how a program ended.
type ending struct {
	// Status is the wait status, valid unless Lost.
	Status uint32
	// Lost is that the supervisor never learned it.
	Lost bool `json:",omitempty"`
	// Own is the CPU time of the program itself, with the children that it waited for.
	Own time.Duration
	// User and System are the CPU time of all that the supervisor waited for: on Linux the whole tree.
	User, System time.Duration
	// TimedOut and Canceled say that the supervisor killed it, and why.
	TimedOut, Canceled bool `json:",omitempty"`
	// Survivors is that some of its processes could not be killed.
	Survivors bool `json:",omitempty"`
}

// fault is an error on its way through a pipe.
type fault struct {
	Kind      sandbox.Kind
	Op        string
	Guarantee sandbox.Guarantee `json:",omitempty"`
	Text      string
	Fix       string        `json:",omitempty"`
	Errno     syscall.Errno `json:",omitempty"`
	NotFound  bool          `json:",omitempty"`
	NoExec    bool          `json:",omitempty"`
}

func newFault(err error) *fault {
	f := &fault{Kind: sandbox.KindSetup, Op: "run", Text: err.Error()}
	var e *sandbox.Error
	if errors.As(err, &e) {
		f.Kind, f.Op, f.Guarantee, f.Fix = e.Kind, e.Op, e.Guarantee, e.Fix
		if e.Cause != nil {
			f.Text = e.Cause.Error()
		}
	}
	_ = errors.As(err, &f.Errno)
	f.NotFound, f.NoExec = errors.Is(err, sandbox.ErrNotFound), errors.Is(err, sandbox.ErrNotExecutable)
	return f
}

// err is the error as it was, for errors.Is too.
func (f *fault) err() error {
	cause := &told{text: f.Text}
	switch {
	case f.NotFound:
		cause.is = sandbox.ErrNotFound
	case f.NoExec:
		cause.is = sandbox.ErrNotExecutable
	case f.Errno != 0:
		cause.is = f.Errno
	}
	return &sandbox.Error{Kind: f.Kind, Op: f.Op, Guarantee: f.Guarantee, Cause: cause, Fix: f.Fix}
}

// told is a cause that another process had.
type told struct {
	text string
	is   error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.is }

// unavailable is an error about the host as such.
func unavailable(op string, cause error, fix string) error {
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: op, Cause: cause, Fix: fix}
}

func setup(op string, err error) error {
	return &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: err}
}
