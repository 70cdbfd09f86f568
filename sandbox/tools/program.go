package tools

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// The bounds of the builtins that run a program.
const (
	DefaultShellTimeout = 60 * time.Second
	MaxShellTimeout     = 600 * time.Second
	ScriptTimeout       = 5 * time.Minute
	EvalTimeout         = 30 * time.Second
	InstallTimeout      = 5 * time.Minute

	// MaxOutput and MaxInstallOutput are how many bytes of a stream are kept.
	MaxOutput        = 8000
	MaxInstallOutput = 4000
)

// Streams are what a caller of a builtin may add: an input, and writers that receive the output as it comes.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// ShellArgs are the arguments of shell_exec.
type ShellArgs struct {
	// Command is the line for /bin/sh.
	Command string
	// WorkingDir is the directory to run in: relative to the workspace, or below WorkspaceTarget, or the same by the
	// host's name. "" is the workspace.
	WorkingDir string
	// Timeout is the wall-clock limit. 0 and less mean 60 s, more than 600 s means 600 s.
	Timeout time.Duration
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Streams are the input and the taps.
	Streams
}

// ScriptArgs are the arguments of run_script.
type ScriptArgs struct {
	// Path is the script in the workspace, given like [ShellArgs].WorkingDir. Its ending names the interpreter: .py, .js
	// and .rb; everything else is bash's.
	Path string
	// Args are its arguments.
	Args []string
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Streams are the input and the taps.
	Streams
}

// EvalArgs are the arguments of python_eval.
type EvalArgs struct {
	// Code is the program.
	Code string
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Streams are the input and the taps.
	Streams
}

// Output is what a builtin's program did.
type Output struct {
	// Result is the run, with streams cut to the tool's size between two runes.
	Result sandbox.Result
	// Timeout is the limit that held.
	Timeout time.Duration
	// Note is what the tool adds, or "".
	Note string
}

// Text is the result as a model reads it: the output of a program that exited with 0. Otherwise how it ended stands
// before, as "exit_code: 1".
func (o Output) Text() string {
	var b strings.Builder
	if e := o.ending(); e != "" {
		b.WriteString(e + "\n")
	}
	b.WriteString(stream(o.Result.Stdout, o.Result.StdoutTruncated))
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	section(&b, "stderr", stream(o.Result.Stderr, o.Result.StderrTruncated))
	section(&b, "hints", strings.Join(o.Result.Hints, "\n"))
	if o.Note != "" {
		b.WriteString(o.Note + "\n")
	}
	if b.Len() == 0 {
		return "(no output)\n"
	}
	return b.String()
}

func (o Output) ending() string {
	switch r := o.Result; r.Status {
	case sandbox.StatusExited:
		if r.ExitCode == 0 {
			return ""
		}
		return "exit_code: " + strconv.Itoa(r.ExitCode)
	case sandbox.StatusSignaled:
		return "exit_code: " + strconv.Itoa(128+r.SignalNumber)
	case sandbox.StatusTimeout:
		return fmt.Sprintf("error: timed out after %s", o.Timeout)
	case sandbox.StatusCPUTimeout:
		return "error: the CPU time is used up"
	case sandbox.StatusOOM:
		return "error: out of memory"
	case sandbox.StatusFileSize:
		return "error: a file grew too large"
	case sandbox.StatusCanceled:
		return "error: canceled"
	default:
		return "error: " + string(r.Status)
	}
}

// ShellExec runs a command line with /bin/sh in the workspace.
func (t Tools) ShellExec(ctx context.Context, a ShellArgs) (Output, error) {
	if strings.TrimSpace(a.Command) == "" {
		return Output{}, sandbox.Invalid(string(NameShellExec), "command is required")
	}
	if err := checkWord(NameShellExec, "command", a.Command); err != nil {
		return Output{}, err
	}
	p, err := t.enter(ctx, Request{Tool: NameShellExec, Isolation: a.Isolation})
	if err != nil {
		return Output{}, err
	}
	dir, err := t.programPath(p, NameShellExec, a.WorkingDir, true)
	if err != nil {
		return Output{}, err
	}
	return t.runProgram(ctx, p, job{
		tool: NameShellExec, argv: []string{"/bin/sh", "-c", a.Command}, dir: dir, streams: a.Streams,
		timeout: p.cap(a.Timeout, DefaultShellTimeout, MaxShellTimeout), output: MaxOutput,
	})
}

// checkWord refuses what a command line cannot hold, by the name that its caller knows.
func checkWord(tool Name, argument, word string) error {
	e := &sandbox.Error{Kind: sandbox.KindInvalid, Op: string(tool)}
	switch nul := strings.IndexByte(word, 0); {
	case nul >= 0:
		e.Cause = fmt.Errorf("%s: NUL byte at offset %d", argument, nul)
	case len(word) >= sandbox.MaxArg:
		e.Cause = fmt.Errorf("%s: %d bytes, and a command line takes at most %d in one piece", argument, len(word), sandbox.MaxArg-1)
	default:
		return nil
	}
	e.Fix = "write it to a file with write_file, as " + WorkspaceTarget + "/NAME"
	if tool == NameShellExec {
		e.Fix = "write it to a script with write_file, as " + WorkspaceTarget + "/NAME, and run that"
	}
	return e
}

// interpreter is what runs a script, by its name's ending.
func interpreter(script string) string {
	switch strings.ToLower(path.Ext(filepath.ToSlash(script))) {
	case ".py":
		return "python3"
	case ".js":
		return "node"
	case ".rb":
		return "ruby"
	default:
		return "bash"
	}
}

// RunScript runs a script of the workspace, in the script's own directory.
func (t Tools) RunScript(ctx context.Context, a ScriptArgs) (Output, error) {
	if a.Path == "" {
		return Output{}, sandbox.Invalid(string(NameRunScript), "path is required")
	}
	for i, arg := range a.Args {
		if err := checkWord(NameRunScript, "args["+strconv.Itoa(i)+"]", arg); err != nil {
			return Output{}, err
		}
	}
	p, err := t.enter(ctx, Request{Tool: NameRunScript, Isolation: a.Isolation})
	if err != nil {
		return Output{}, err
	}
	script, err := t.programPath(p, NameRunScript, a.Path, false)
	if err != nil {
		return Output{}, err
	}
	dir := path.Dir(script)
	if p.OnHost {
		dir = filepath.Dir(script)
	}
	return t.runProgram(ctx, p, job{
		tool: NameRunScript, argv: append([]string{interpreter(script), script}, a.Args...), dir: dir, streams: a.Streams,
		timeout: p.cap(0, ScriptTimeout, ScriptTimeout), output: MaxOutput,
	})
}

// PythonEval runs Python code in the workspace.
func (t Tools) PythonEval(ctx context.Context, a EvalArgs) (o Output, err error) {
	if strings.TrimSpace(a.Code) == "" {
		return Output{}, sandbox.Invalid(string(NamePythonEval), "code is required")
	}
	if len(a.Code) > MaxCode {
		return Output{}, sandbox.Invalid(string(NamePythonEval), "code: %d bytes, more than %d", len(a.Code), MaxCode)
	}
	p, err := t.enter(ctx, Request{Tool: NamePythonEval, Isolation: a.Isolation})
	if err != nil {
		return Output{}, err
	}
	l, j, err := t.evalJob(p, a.Streams)
	if err != nil {
		return Output{}, err
	}
	return t.runCode(ctx, p, l, a.Code, j)
}

// evalJob is a run of python_eval, but for its code.
func (t Tools) evalJob(p Place, streams Streams) (language, job, error) {
	dir, err := t.programPath(p, NamePythonEval, "", true)
	if err != nil {
		return language{}, job{}, err
	}
	l, err := findLanguage("python")
	return l, job{
		tool: NamePythonEval, dir: dir, streams: streams, timeout: p.cap(0, EvalTimeout, EvalTimeout), output: MaxOutput, env: l.env,
	}, err
}
