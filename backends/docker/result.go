package docker

import (
	"cmp"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

func (k *call) timeout() time.Duration {
	return cmp.Or(k.command.Timeout, k.profile.Limits.Wall)
}

// result turns the end of a call into what its caller sees.
func (k *call) result(end ending, wall time.Duration) sandbox.Result {
	r := sandbox.Result{ID: k.command.ID, Backend: k.b.Name(), ExitCode: -1, Enforcement: k.report}
	r.Stdout, r.StdoutBytes = end.stdout.Output()
	r.Stderr, r.StderrBytes = end.stderr.Output()
	r.StdoutTruncated = r.StdoutBytes > int64(len(r.Stdout))
	r.StderrTruncated = r.StderrBytes > int64(len(r.Stderr))
	r.Usage = sandbox.Usage{Wall: wall}
	if e := end.report; e != nil {
		r.Usage.User, r.Usage.System = &e.User, &e.System
		r.Usage.MaxMemory, r.Usage.MaxProcesses = e.MaxMemory, e.MaxProcesses
	}
	k.classify(&r, end)
	r.Hints = k.hints(r, end)
	return r
}

// classify says how the run ended. A limit that was reached comes before the signal it was kept with.
func (k *call) classify(r *sandbox.Result, end ending) {
	e := end.report
	switch {
	case e == nil && end.canceled:
		r.Status = sandbox.StatusCanceled
	case e == nil && end.late:
		r.Status = sandbox.StatusTimeout
	case e == nil && end.oom, e != nil && e.Cause == frame.CauseOOM:
		r.Status = sandbox.StatusOOM
	case e == nil:
		k.signaled(r, sigKill) // something outside, with the rights to, killed the sandbox
	case e.Cause == frame.CauseTimeout:
		r.Status = sandbox.StatusTimeout
	case e.Cause == frame.CauseCPU:
		r.Status = sandbox.StatusCPUTimeout
	case e.Cause == frame.CauseKill:
		r.Status = sandbox.StatusCanceled
	default:
		k.classifyExit(r, e.Status)
	}
}

// Linux's signals (signal(7)), whatever the caller's system is.
const (
	sigKill = 9
	sigCPU  = 24
	sigFile = 25
	sigSys  = 31
)

// classifyExit reads a wait status of Linux (wait(2)): the low seven bits are the signal, the next byte is the code.
func (k *call) classifyExit(r *sandbox.Result, status uint32) {
	switch sig := int(status & 0x7f); sig {
	case 0:
		r.Status, r.ExitCode = sandbox.StatusExited, int(status>>8&0xff)
	case sigFile:
		k.signaled(r, sig)
		r.Status = sandbox.StatusFileSize
	case sigCPU:
		r.Status = sandbox.StatusCPUTimeout
	default:
		k.signaled(r, sig)
	}
}

func (k *call) signaled(r *sandbox.Result, sig int) {
	r.Status, r.Signal, r.SignalNumber = sandbox.StatusSignaled, signalName(sig), sig
}

// signalName is Linux's name of a signal, for amd64 and arm64 alike.
func signalName(sig int) string {
	names := [...]string{
		1: "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT",
		"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
	}
	if sig > 0 && sig < len(names) {
		return "SIG" + names[sig]
	}
	return fmt.Sprintf("SIGRT%d", sig)
}

// hints say what the sandbox did to the program, for somebody who will try again.
func (k *call) hints(r sandbox.Result, end ending) []string {
	var out []string
	hint := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	l := k.profile.Limits
	hint(r.Status == sandbox.StatusOOM, "out of memory at %d MB", l.MemoryMB)
	hint(r.Status == sandbox.StatusTimeout, "timed out after %s", k.timeout())
	hint(r.Status == sandbox.StatusCPUTimeout, "used up its %d s of CPU time", l.CPUSeconds)
	hint(r.Status == sandbox.StatusFileSize, "a file grew beyond %d MB", l.FileSizeMB)
	hint(end.report != nil && end.report.Forks > 0, "%d processes reached", k.profile.PIDs)
	hint(r.StdoutTruncated, "stdout was cut at %d KB of %d bytes", l.OutputKB, r.StdoutBytes)
	hint(r.StderrTruncated, "stderr was cut at %d KB of %d bytes", l.OutputKB, r.StderrBytes)
	hint(r.SignalNumber == sigSys, "a system call of another architecture was made; it is not allowed")
	return out
}

// execError is a program that could not be started: what it means beside what the kernel said.
type execError struct {
	sentinel error
	cause    error
}

func (e *execError) Error() string { return fmt.Sprintf("%s: %s", e.sentinel, e.cause) }

// Is matches the meaning; Unwrap gives the cause.
func (e *execError) Is(target error) bool { return target == e.sentinel }
func (e *execError) Unwrap() error        { return e.cause }

// fault turns a program that init did not start into the error that a caller sees.
func (k *call) fault(f *frame.Failure) error {
	cause := errors.New(f.Text)
	if f.Errno != 0 && hostIsLinux {
		cause = syscall.Errno(f.Errno)
	}
	e := &sandbox.Error{Kind: sandbox.KindInvalid, Op: f.Step, Cause: cause}
	switch f.Class {
	case frame.ClassNotFound:
		e.Cause = &execError{sandbox.ErrNotFound, cause}
		e.Fix = "name a program that exists in the image; a script also needs its interpreter there"
	case frame.ClassNotExecutable:
		e.Cause = &execError{sandbox.ErrNotExecutable, cause}
		e.Fix = "it must be an executable file for the engine's machine, on a mount that allows execution"
	case frame.ClassInvalid:
		e.Fix = "name an existing directory, and limits and arguments that the program fits in"
	case frame.ClassRoot:
		return rootError(cause)
	case frame.ClassMount:
		e.Kind, e.Guarantee, e.Fix = sandbox.KindRefused, sandbox.FSNoHostFiles, "mount a directory whose parents only the caller can change"
	case frame.ClassSession:
		e.Kind, e.Guarantee, e.Fix = sandbox.KindRefused, sandbox.LifeNoSurvivors, "make calls without a session, or use another runtime"
	case frame.ClassNoexec:
		e.Kind = sandbox.KindRefused
		e.Fix = "the engine's kernel needs Landlock for a mount without execution: allow execution on it, for run_code's output " +
			"directory with runtime.sandbox.scratch_exec: true, or use podman"
	default:
		e.Kind = sandbox.KindSetup
	}
	return e
}
