//go:build linux || darwin

package host

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// wholeTreeMeasured: orphans are waited for only where they become the supervisor's children.
const wholeTreeMeasured = runtime.GOOS == "linux"

// classify says how a program ended that was not killed for the call.
func (k *call) classify(r *sandbox.Result, end ending) {
	status := syscall.WaitStatus(end.Status)
	switch {
	case end.Lost:
		k.signaled(r, unix.SIGKILL)
	case status.Exited():
		r.Status, r.ExitCode = sandbox.StatusExited, status.ExitStatus()
	default:
		k.signaled(r, status.Signal())
		k.limited(r, end)
	}
}

func (k *call) signaled(r *sandbox.Result, sig syscall.Signal) {
	r.Status, r.Signal, r.SignalNumber = sandbox.StatusSignaled, unix.SignalName(sig), int(sig)
	if r.Signal == "" {
		r.Signal = fmt.Sprintf("SIG%d", int(sig))
	}
}

// limited says which limit a signal came from. Anybody can send one without it.
func (k *call) limited(r *sandbox.Result, end ending) {
	if k.b.mode != Limits {
		return
	}
	switch sig := syscall.Signal(r.SignalNumber); {
	case sig == unix.SIGXFSZ:
		r.Status = sandbox.StatusFileSize
	case (sig == unix.SIGXCPU || sig == unix.SIGKILL) && end.Own >= k.cpuLimit():
		r.Status, r.Signal, r.SignalNumber = sandbox.StatusCPUTimeout, "", 0
	}
}

// cpuLimit is a CPU time that only a process near its limit has used. The limit counts the ticks in which a process was
// found running (kernel/time/posix-cpu-timers.c, check_process_timers), and its usage is scaled down to what the
// scheduler measured (kernel/sched/cputime.c, cputime_adjust): a sixth less was seen on a busy machine. So half counts.
func (k *call) cpuLimit() time.Duration {
	seconds := uint64(k.profile.Limits.CPUSeconds)
	if hard, err := hardLimit(rlimitCPU); err == nil {
		seconds = min(seconds, hard)
	}
	return time.Duration(seconds) * time.Second / 2
}
