package tools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// Text is the result as a model reads it. A program that exited gives
//
//	Exit code: 0
//
//	--- stdout ---
//	4
//
// with a section for each stream that is not empty, or "(no output)". A run that was ended at a limit says so in the
// first line; what was cut off, what the sandbox knows about the failure and which files came back follow.
func (r CodeResult) Text() string {
	var b strings.Builder
	b.WriteString(r.ending() + "\n")
	section(&b, "stdout", stream(r.Result.Stdout, r.Result.StdoutTruncated))
	section(&b, "stderr", stream(r.Result.Stderr, r.Result.StderrTruncated))
	if len(r.Result.Stdout)+len(r.Result.Stderr) == 0 && !r.Result.StdoutTruncated && !r.Result.StderrTruncated {
		b.WriteString("\n(no output)\n")
	}
	section(&b, "files", r.files())
	section(&b, "hints", strings.Join(r.Result.Hints, "\n"))
	return b.String()
}

// ending is the first line.
func (r CodeResult) ending() string {
	res := r.Result
	switch res.Status {
	case sandbox.StatusTimeout:
		return fmt.Sprintf("Execution timed out after %s", r.Timeout)
	case sandbox.StatusCPUTimeout:
		return "Execution stopped: the CPU time is used up"
	case sandbox.StatusOOM:
		return fmt.Sprintf("Execution stopped: out of memory at %d MB", r.MemoryMB)
	case sandbox.StatusFileSize:
		return "Execution stopped: a file grew too large"
	case sandbox.StatusCanceled:
		if r.Full != "" {
			return "Execution stopped: " + r.Full
		}
		return "Execution canceled"
	case sandbox.StatusSignaled: // as a shell counts
		return "Exit code: " + strconv.Itoa(128+res.SignalNumber)
	case sandbox.StatusExited:
		return "Exit code: " + strconv.Itoa(res.ExitCode)
	default:
		return "Execution ended: " + string(res.Status)
	}
}

func (r CodeResult) files() string {
	var lines []string
	for _, a := range r.Artifacts {
		lines = append(lines, fmt.Sprintf("%s (%s, %d bytes)", plainName(a.Name), a.Type, a.Size))
	}
	for _, o := range r.Omitted {
		lines = append(lines, "not returned: "+o)
	}
	return strings.Join(lines, "\n")
}

// section appends a named part that ends in a newline, unless it is empty.
func section(b *strings.Builder, name, body string) {
	if body == "" {
		return
	}
	b.WriteString("\n--- " + name + " ---\n" + body)
	if !strings.HasSuffix(body, "\n") {
		b.WriteByte('\n')
	}
}

// stream is a stream's text with the mark of a cut.
func stream(out []byte, truncated bool) string {
	s := text(out)
	if !truncated {
		return s
	}
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s + truncatedMark
}

// plainName is a file's name on one line, whatever a program put into it.
func plainName(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
