package tools

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// The bounds of run_code.
const (
	DefaultCodeTimeout = 30 * time.Second
	MaxCodeTimeout     = 300 * time.Second
	MaxCodePIDs        = 256
)

// MaxCode is how much code a call takes, in bytes.
const MaxCode = 8 << 20

// CodeArgs are the arguments of run_code.
type CodeArgs struct {
	// Language is a language or an alias; see [ParseLanguage].
	Language string
	// Code is the program. It is handed over in a file, so that its size and its standard input are its own.
	Code string
	// Timeout is the wall-clock limit. 0 and less mean 30 s, more than 300 s means 300 s.
	Timeout time.Duration
	// Network asks for a network, which only the operator can grant.
	Network bool
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Stdin is the program's standard input. nil means an empty one.
	Stdin io.Reader
	// Env holds KEY=VALUE entries.
	Env []string
	// Stdout and Stderr also receive the output as it comes.
	Stdout, Stderr io.Writer
}

// CodeResult is what run_code's program did.
type CodeResult struct {
	// Result is the run. Its Artifacts name the files that were brought back.
	Result sandbox.Result
	// Language is the language's name.
	Language string
	// Timeout and MemoryMB are the limits that held.
	Timeout  time.Duration
	MemoryMB int
	// Artifacts are the regular files that the code left in its output directory.
	Artifacts []Artifact
	// Full says that the run was ended because its output directory had grown too large, and how; "" when it was not.
	Full string
	// Omitted says in words which files were left there and not brought back.
	Omitted []string
}

// RunCode runs a snippet of code in a sandbox of its own. The program starts in its output directory, which OUTPUT_DIR
// names; regular files that it leaves there are the result's artifacts.
func (t Tools) RunCode(ctx context.Context, a CodeArgs) (CodeResult, error) {
	if strings.TrimSpace(a.Code) == "" {
		return CodeResult{}, sandbox.Invalid("", "code is required.")
	}
	l, err := findLanguage(a.Language)
	if err != nil {
		return CodeResult{}, err
	}
	if len(a.Code) > MaxCode {
		return CodeResult{}, sandbox.Invalid("code", "%d bytes, more than %d", len(a.Code), MaxCode)
	}
	p, err := t.enter(ctx, Request{Tool: NameRunCode, Language: l.name, Isolation: a.Isolation, Network: a.Network})
	if err != nil {
		return CodeResult{}, err
	}
	p = p.forCode()
	p.Profile.Limits.Wall = p.cap(a.Timeout, DefaultCodeTimeout, MaxCodeTimeout)
	return t.runStaged(ctx, p, l, a)
}

// forCode is the place of run_code's programs.
func (p Place) forCode() Place {
	p.Profile.PIDs = min(cmp.Or(p.Profile.PIDs, sandbox.DefaultPIDs), MaxCodePIDs)
	return p
}

// codeSort is the sort of run_code's calls in a language.
func (t Tools) codeSort(p Place, l language, stdin io.Reader) *sort {
	like := sandbox.Command{Argv: append(l.argv, codeTarget+"/"+l.file), Dir: p.codeDir(outputTarget), Env: l.env, Stdin: stdin}
	return t.sortOf(p, like, l.interpreter, l.file, true)
}

// runStaged runs the code between the making and the removal of its directories.
func (t Tools) runStaged(ctx context.Context, p Place, l language, a CodeArgs) (r CodeResult, err error) {
	s, err := t.stage(NameRunCode, p, t.codeSort(p, l, a.Stdin), l.file, a.Code)
	if err != nil {
		return CodeResult{}, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	code, output := p.inside(s)
	c := sandbox.Command{
		Argv: append(l.argv, code), Dir: p.codeDir(output), Timeout: p.Profile.Limits.Wall, Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr,
		Env: slices.Concat(l.env, []string{"OUTPUT_DIR=" + output}, a.Env),
	}
	if !p.OnHost {
		p.Profile.Binds = append(slices.Clone(p.Profile.Binds), s.mounts(true, p.Profile.ScratchExec)...)
	}
	ctx, stop := watched(ctx, s.outputDir(), t.Artifacts)
	res, err := p.run(ctx, c)
	full := stop()
	if err != nil {
		return CodeResult{}, missingProgram(l.argv[0], err)
	}
	r = CodeResult{Result: res, Language: l.name, Timeout: c.Timeout, MemoryMB: p.Profile.WithDefaults().Limits.MemoryMB}
	if full != nil {
		r.Full = full.Error()
		r.Result.Hints = append(r.Result.Hints, r.Full)
	}
	tidyStreams(&r.Result)
	r.Artifacts, r.Omitted, err = collect(s.outputDir(), t.Artifacts)
	if err != nil {
		return CodeResult{}, &sandbox.Error{Kind: sandbox.KindSetup, Op: string(NameRunCode), Cause: err}
	}
	for _, f := range r.Artifacts {
		r.Result.Artifacts = append(r.Result.Artifacts, sandbox.Artifact{Path: output + "/" + f.Name, Size: f.Size})
	}
	return r, nil
}

// inside returns where the program finds the code and its output directory.
func (p Place) inside(s *stage) (code, output string) {
	if p.OnHost {
		return filepath.Join(s.codeDir(), s.code), s.outputDir()
	}
	return codeTarget + "/" + s.code, outputTarget
}

// codeDir is where run_code's program starts: in its output directory, unless the place has a directory to work in.
func (p Place) codeDir(output string) string {
	if w := p.Profile.Workdir; w != "" && w != sandbox.DefaultWorkdir {
		return w
	}
	return output
}

// tidyStreams removes the part of a rune that a limit left at the end of a stream.
func tidyStreams(r *sandbox.Result) {
	r.Stdout, r.StdoutTruncated = cut(r.Stdout, len(r.Stdout), r.StdoutTruncated)
	r.Stderr, r.StderrTruncated = cut(r.Stderr, len(r.Stderr), r.StderrTruncated)
}

// missingProgram says of an interpreter that is not there what that means.
func missingProgram(program string, err error) error {
	if !errors.Is(err, sandbox.ErrNotFound) {
		return err
	}
	return &sandbox.Error{
		Kind: sandbox.KindInvalid, Op: "interpreter " + program, Cause: err,
		Fix: "use another language, or let the operator choose an image that has " + program,
	}
}
