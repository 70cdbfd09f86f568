package native

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// fault turns a failed step into the error that a caller sees.
func (k *call) fault(r wire.Reply) error {
	errno := syscall.Errno(r.Errno)
	switch {
	case r.BySpawner && k.b.lanes.direct == nil:
		return spawnerFault(r)
	case r.BySpawner && r.Step == wire.StepFork:
		return startError(errno)
	case r.BySpawner:
		return startError(&sandbox.SetupError{Step: wire.StepName(r.Step), Errno: errno})
	}
	if step, ok := k.plan.Step(int(r.Step)); ok {
		return stepFault(step, r)
	}
	return k.startFault(r.Step, errno)
}

// stepFault explains a plan's step that failed.
func stepFault(step plan.Step, r wire.Reply) error {
	kind := map[plan.Class]sandbox.Kind{plan.ClassInvalid: sandbox.KindInvalid, plan.ClassRefused: sandbox.KindRefused}[step.Class]
	if kind == "" {
		kind = sandbox.KindSetup
	}
	return &sandbox.Error{
		Kind: kind, Op: "confine", Guarantee: sandbox.Guarantee(step.Guarantee),
		Cause: &sandbox.SetupError{Step: step.Name, Index: int(r.Step), Errno: syscall.Errno(r.Errno)}, Fix: step.Fix,
	}
}

// execError is a failed execve(2): its errno beside its meaning.
type execError struct {
	sentinel error
	errno    syscall.Errno
}

func (e *execError) Error() string { return fmt.Sprintf("%s: %s", e.sentinel, e.errno) }

// Is matches the meaning; Unwrap gives the errno.
func (e *execError) Is(target error) bool { return target == e.sentinel }
func (e *execError) Unwrap() error        { return e.errno }

func (k *call) startFault(step uint32, errno syscall.Errno) error {
	if step != forked.StepStart {
		e := &sandbox.Error{Kind: sandbox.KindSetup, Op: "confine", Cause: &sandbox.SetupError{Step: pseudoStep(step), Index: int(step), Errno: errno}}
		if step == forked.StepDescriptors {
			e.Fix = "raise the limit on open files (RLIMIT_NOFILE, ulimit -n)"
		}
		return e
	}
	e := &sandbox.Error{Kind: sandbox.KindInvalid, Op: fmt.Sprintf("start %q", k.command.Argv[0])}
	switch {
	case errors.Is(errno, syscall.ENOENT), errors.Is(errno, syscall.ENOTDIR):
		e.Cause = &execError{sentinel: sandbox.ErrNotFound, errno: errno}
		e.Fix = "name a program that exists inside; a script also needs its interpreter there"
	case errors.Is(errno, syscall.ENOMEM), errors.Is(errno, syscall.EAGAIN):
		e.Cause, e.Fix = errno, "raise the memory or process limit"
	case errors.Is(errno, syscall.E2BIG):
		e.Cause, e.Fix = errno, "arguments and environment are too large; code and data belong on stdin or in a file"
	default:
		e.Cause = &execError{sentinel: sandbox.ErrNotExecutable, errno: errno}
		e.Fix = "it must be an executable file for this machine, on a mount that allows execution"
	}
	return e
}

// pseudoStep names a step outside the plan.
func pseudoStep(step uint32) string {
	switch step {
	case forked.StepDescriptors:
		return "place descriptors"
	case forked.StepMap:
		return "map the plan"
	case forked.StepFork:
		return "make the program's process"
	default:
		return "unknown step"
	}
}

// limitOf is the guarantee of the controller that an error is about; "" when it is about none.
func limitOf(err error) sandbox.Guarantee {
	var e *cgroup.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Controller {
	case cgroup.Memory:
		return sandbox.LimitMemory
	case cgroup.PIDs:
		return sandbox.LimitProcesses
	case cgroup.CPU:
		return sandbox.LimitCPU
	default:
		return ""
	}
}
