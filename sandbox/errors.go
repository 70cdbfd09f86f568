package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// The kinds of error, for [errors.Is]. None of them is ever a program's own failure; see [Result].
var (
	// ErrUnavailable: this backend cannot run anything here (no user namespaces, no engine, no spawner).
	ErrUnavailable = errors.New("sandbox unavailable")
	// ErrRefused: a required guarantee, or the operator's policy, forbids the call.
	ErrRefused = errors.New("call refused")
	// ErrInvalid: the profile or the command cannot be meant (a relative mount, NUL in an argument).
	ErrInvalid = errors.New("invalid request")
	// ErrSetup: a step of the confinement failed. The program was not started.
	ErrSetup = errors.New("sandbox set-up failed")
	// ErrNotFound: the program does not exist inside the sandbox. It also matches ErrInvalid.
	ErrNotFound = errors.New("program not found")
	// ErrNotExecutable: the program exists and cannot be run. It also matches ErrInvalid.
	ErrNotExecutable = errors.New("program not executable")
)

// Kind is the machine-readable class of an [Error].
type Kind string

// The kinds, as they appear in JSON.
const (
	KindUnavailable Kind = "unavailable"
	KindRefused     Kind = "refused"
	KindInvalid     Kind = "invalid"
	KindSetup       Kind = "setup"
)

// Error says why a call did not run: what was being done, which guarantee is concerned, the cause, and what to do
// about it. Its text is one line; the fix is a field of its own, so that programs can print or drop it.
type Error struct {
	// Kind is the class; it decides what errors.Is matches.
	Kind Kind
	// Op is the operation and its object, lower case ("mount /data", "open native").
	Op string
	// Guarantee is the promise that could not be kept; "" when none is concerned.
	Guarantee Guarantee
	// Cause is what went wrong. It is never nil in an Error made by this module.
	Cause error
	// Fix is what to do about it, in one sentence; "" when nothing is known to help.
	Fix string
}

// Error returns "op: guarantee: cause (fix)" with the empty parts left out, always on one line.
func (e *Error) Error() string {
	var parts []string
	for _, s := range []string{e.Op, string(e.Guarantee)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if e.Cause != nil {
		parts = append(parts, e.Cause.Error())
	}
	s := strings.Join(parts, ": ")
	if e.Fix != "" {
		s += " (" + e.Fix + ")"
	}
	return oneLine(s)
}

// oneLine keeps an error on one line, and harmless on a terminal, whatever a path or a kernel message holds.
func oneLine(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsControl(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	switch e.Kind {
	case KindUnavailable:
		return target == ErrUnavailable
	case KindRefused:
		return target == ErrRefused
	case KindInvalid:
		return target == ErrInvalid
	case KindSetup:
		return target == ErrSetup
	default:
		return false
	}
}

// Invalid returns an [*Error] of kind [KindInvalid] about op, with the cause formatted as by [fmt.Errorf].
func Invalid(op, format string, args ...any) error {
	return &Error{Kind: KindInvalid, Op: op, Cause: fmt.Errorf(format, args...)}
}

// SetupError is the cause of an [Error] when one step of the confinement failed inside the sandbox's own process. It
// carries the errno that the kernel returned there, so errors.Is(err, syscall.EPERM) works across the processes.
type SetupError struct {
	// Step names the step, as `toolcell profile --plan` prints it.
	Step string
	// Index is the step's place in the plan, from 0.
	Index int
	// Errno is what the kernel answered; 0 when the call succeeded with a result the plan does not accept.
	Errno syscall.Errno
}

// Error returns "step: errno".
func (e *SetupError) Error() string {
	if e.Errno == 0 {
		return e.Step + ": unexpected result"
	}
	return e.Step + ": " + e.Errno.Error()
}

// Unwrap returns the errno.
func (e *SetupError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}
