package host

import (
	"errors"
	"fmt"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

var errTry = errors.New("the process on which they were set did not end well")

// result turns the end of a call into what its caller sees.
func (k *call) result(end ending, wall time.Duration) sandbox.Result {
	r := sandbox.Result{ID: k.command.ID, Backend: Name, ExitCode: -1, Enforcement: k.report}
	r.Stdout, r.StdoutBytes = k.stdout.Output()
	r.Stderr, r.StderrBytes = k.stderr.Output()
	r.StdoutTruncated = r.StdoutBytes > int64(len(r.Stdout))
	r.StderrTruncated = r.StderrBytes > int64(len(r.Stderr))
	r.Usage.Wall = wall
	if wholeTreeMeasured && !end.Lost && !end.Survivors {
		r.Usage.User, r.Usage.System = &end.User, &end.System
	}
	switch {
	case end.TimedOut:
		r.Status = sandbox.StatusTimeout
	case end.Canceled:
		r.Status = sandbox.StatusCanceled
	default:
		k.classify(&r, end)
	}
	r.Hints = k.hints(r, end)
	return r
}

// hints say what was done to the program, for somebody who will try again.
func (k *call) hints(r sandbox.Result, end ending) []string {
	var out []string
	hint := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	l := k.profile.Limits
	hint(r.Status == sandbox.StatusTimeout, "timed out after %s", k.timeout)
	hint(r.Status == sandbox.StatusCPUTimeout, "a process used up its %d s of CPU time", l.CPUSeconds)
	hint(r.Status == sandbox.StatusFileSize, "a file grew beyond %d MB", l.FileSizeMB)
	hint(r.StdoutTruncated, "stdout was cut at %d KB of %d bytes", l.OutputKB, r.StdoutBytes)
	hint(r.StderrTruncated, "stderr was cut at %d KB of %d bytes", l.OutputKB, r.StderrBytes)
	hint(end.Lost, "the process that watches the call was killed")
	hint(end.Survivors, "processes of this call may still run on the host")
	return out
}
