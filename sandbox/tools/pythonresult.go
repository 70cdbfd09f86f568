package tools

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// maxFailure is how much of the end of a tool's standard error stream its failure tells, in bytes.
const maxFailure = 4000

// PythonResult is what an agent's or a plugin's own tool did.
type PythonResult struct {
	// Result is the run, its streams without progress lines.
	Result sandbox.Result
	// Output is the tool's result: its standard output without outer spaces. What was too long is cut; see
	// Result.StdoutTruncated.
	Output string
	// Timeout and MemoryMB are the limits that held.
	Timeout  time.Duration
	MemoryMB int
}

// Failure is why a tool that ran gave no result.
type Failure struct {
	// Status and ExitCode are the run's; see [sandbox.Result].
	Status   sandbox.Status
	ExitCode int
	// Ending says how the run ended, in words.
	Ending string
	// Detail is the end of what the tool wrote to its standard error stream, "" if it wrote nothing.
	Detail string
}

// Error returns "tool execution failed (exit status 1): " and the detail.
func (f *Failure) Error() string {
	s := "tool execution failed (" + f.Ending + ")"
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// Failed returns a [*Failure] when the tool did not end with exit code 0, and nil when it did. A failure is no error of the
// call: trying again may help, see [Final]. A call that gave an error has no result to ask; Failed of the zero value is a
// failure that says nothing.
func (r PythonResult) Failed() error {
	if r.Result.Status == sandbox.StatusExited && r.Result.ExitCode == 0 {
		return nil
	}
	detail := strings.TrimSpace(text(r.Result.Stderr))
	if over := len(detail) - maxFailure; over > 0 {
		detail = strings.TrimLeft(strings.ToValidUTF8(detail[over:], ""), "\n")
	}
	return &Failure{Status: r.Result.Status, ExitCode: r.Result.ExitCode, Ending: r.ending(), Detail: detail}
}

func (r PythonResult) ending() string {
	switch res := r.Result; res.Status {
	case sandbox.StatusExited:
		return "exit status " + strconv.Itoa(res.ExitCode)
	case sandbox.StatusSignaled:
		return "signal " + cmp.Or(res.Signal, strconv.Itoa(res.SignalNumber))
	case sandbox.StatusTimeout:
		return fmt.Sprintf("timed out after %s", r.Timeout)
	case sandbox.StatusCPUTimeout:
		return "the CPU time is used up"
	case sandbox.StatusOOM:
		return fmt.Sprintf("out of memory at %d MB", r.MemoryMB)
	case sandbox.StatusFileSize:
		return "a file grew too large"
	case sandbox.StatusCanceled:
		return "canceled"
	default:
		return string(res.Status)
	}
}

// Text is what a model reads: the result, or why there is none and what the sandbox knows about that.
func (r PythonResult) Text() string {
	var b strings.Builder
	if err := r.Failed(); err != nil {
		b.WriteString(err.Error())
		section(&b, "hints", strings.Join(r.Result.Hints, "\n"))
		return strings.TrimSuffix(b.String(), "\n")
	}
	return stream([]byte(r.Output), r.Result.StdoutTruncated)
}

// result makes the result of a run. In a function's run only what it returned is in the standard output.
func (r pythonRun) result(p Place, res sandbox.Result) PythonResult {
	if r.program {
		res.Stdout = withoutProgress(res.Stdout)
	} else {
		res.Stderr = withoutProgress(res.Stderr)
	}
	return PythonResult{
		Result: res, Output: strings.TrimSpace(text(res.Stdout)), Timeout: p.Profile.Limits.Wall,
		MemoryMB: p.Profile.WithDefaults().Limits.MemoryMB,
	}
}
