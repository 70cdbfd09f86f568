package native

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// result turns the end of a call into what its caller sees.
func (k *call) result(end ending, wall time.Duration) (sandbox.Result, error) {
	if end.reply.Faulted {
		return sandbox.Result{}, k.fault(end.reply)
	}
	used, err := k.usage()
	if err != nil {
		return sandbox.Result{}, err
	}
	r := sandbox.Result{
		ID: k.command.ID, Backend: Name, ExitCode: -1, Enforcement: k.report,
	}
	r.Stdout, r.StdoutBytes = k.stdout.output()
	r.Stderr, r.StderrBytes = k.stderr.output()
	r.StdoutTruncated = r.StdoutBytes > int64(len(r.Stdout))
	r.StderrTruncated = r.StderrBytes > int64(len(r.Stderr))
	r.Usage = k.measured(end.reply, used, wall)
	if err := k.classify(&r, end, used); err != nil {
		return sandbox.Result{}, err
	}
	r.Hints = k.hints(r, used)
	return r, nil
}

// usage reads what the call's cgroup counted; without one there is nothing to read.
func (k *call) usage() (cgroup.Usage, error) {
	if k.group == nil {
		return cgroup.Usage{}, nil
	}
	u, err := k.group.Usage()
	if err != nil {
		return u, k.setup("read the call's usage", err)
	}
	if k.armed != nil { // what its making took is not the program's
		u.CPUUser, u.CPUSystem = max(0, u.CPUUser-k.armed.spent.CPUUser), max(0, u.CPUSystem-k.armed.spent.CPUSystem)
	}
	return u, nil
}

// measured prefers the cgroup's figures, which count what nobody waited for.
func (k *call) measured(r wire.Reply, used cgroup.Usage, wall time.Duration) sandbox.Usage {
	u := sandbox.Usage{Wall: wall}
	switch {
	case k.group != nil && k.b.cgroups.Controller(cgroup.CPUAcct) == nil:
		user, system := used.CPUUser, used.CPUSystem
		u.User, u.System = &user, &system
	case r.Exited:
		user, system := time.Duration(r.User)*time.Microsecond, time.Duration(r.System)*time.Microsecond
		u.User, u.System = &user, &system
	}
	u.MaxMemory = used.MaxMemory
	if used.MaxProcesses != nil {
		n := max(0, *used.MaxProcesses-initProcesses)
		u.MaxProcesses = &n
	}
	return u
}

// classify says how the run ended. A limit that was reached comes before the signal it was kept with.
func (k *call) classify(r *sandbox.Result, end ending, used cgroup.Usage) error {
	reply := end.reply
	oom := reply.Cause == wire.CauseOOM || used.OOMKills > 0
	switch {
	case oom && !reply.Started:
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "memory limit", Guarantee: sandbox.LimitMemory,
			Cause: fmt.Errorf("%d MiB is used up before the program starts", k.profile.Limits.MemoryMB), Fix: "raise the memory limit",
		}
	case oom:
		r.Status = sandbox.StatusOOM
	case reply.Cause == wire.CauseTimeout:
		r.Status = sandbox.StatusTimeout
	case reply.Cause == wire.CauseCPU:
		r.Status = sandbox.StatusCPUTimeout
	case end.canceled && !reply.Exited:
		r.Status = sandbox.StatusCanceled
	case reply.Exited:
		k.classifyExit(r, syscall.WaitStatus(reply.Status), time.Duration(reply.User+reply.System)*time.Microsecond)
	case !reply.Started:
		return k.setup("confine", fmt.Errorf("the sandbox's init ended before the program started (wait status %#x)", reply.InitStatus))
	default:
		// Something outside, with the rights to, killed the sandbox.
		k.signaled(r, syscall.SIGKILL)
	}
	return nil
}

// classifyExit says how a program ended by itself, having used that much CPU time with the children it waited for.
func (k *call) classifyExit(r *sandbox.Result, ws syscall.WaitStatus, used time.Duration) {
	switch {
	case ws.Exited():
		r.Status, r.ExitCode = sandbox.StatusExited, ws.ExitStatus()
	case ws.Signal() == unix.SIGXFSZ:
		k.signaled(r, ws.Signal())
		r.Status = sandbox.StatusFileSize
	case ws.Signal() == unix.SIGXCPU && used >= k.processCPU():
		r.Status = sandbox.StatusCPUTimeout
	default:
		k.signaled(r, ws.Signal())
	}
}

// processCPU is the least CPU time with which a process is sent SIGXCPU by its limit; anybody can send it without.
func (k *call) processCPU() time.Duration {
	seconds := uint64(k.profile.Limits.CPUSeconds)
	if hard, ok := k.spec.Limits.Hard[unix.RLIMIT_CPU]; ok {
		seconds = min(seconds, hard)
	}
	return time.Duration(seconds) * time.Second
}

func (k *call) signaled(r *sandbox.Result, sig syscall.Signal) {
	r.Status, r.Signal, r.SignalNumber = sandbox.StatusSignaled, unix.SignalName(sig), int(sig)
	if r.Signal == "" {
		r.Signal = fmt.Sprintf("SIGRT%d", int(sig))
	}
}

// hints say what the sandbox did to the program, for somebody who will try again.
func (k *call) hints(r sandbox.Result, used cgroup.Usage) []string {
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
	hint(used.PIDsMax > 0, "%d processes reached", k.profile.PIDs)
	hint(r.StdoutTruncated, "stdout was cut at %d KB of %d bytes", l.OutputKB, r.StdoutBytes)
	hint(r.StderrTruncated, "stderr was cut at %d KB of %d bytes", l.OutputKB, r.StderrBytes)
	hint(r.Signal == "SIGSYS", "a system call of another architecture was made; it is not allowed")
	return out
}
