package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// job is one run of a builtin's program.
type job struct {
	tool    Name
	argv    []string
	dir     string
	env     []string
	timeout time.Duration
	output  int
	streams Streams
}

func (j job) command() sandbox.Command {
	return sandbox.Command{
		Argv: j.argv, Dir: j.dir, Env: j.env, Timeout: j.timeout,
		Stdin: j.streams.Stdin, Stdout: j.streams.Stdout, Stderr: j.streams.Stderr,
	}
}

// run runs the job and cuts its output.
func (t Tools) run(ctx context.Context, p Place, j job) (Output, error) {
	p.Profile.Limits.Wall = j.timeout
	// One byte more than is shown tells whether there was more; KiB are the unit, so the rest is cut below.
	p.Profile.Limits.OutputKB = min(cmp.Or(p.Profile.Limits.OutputKB, sandbox.DefaultOutputKB), j.output>>10+1)
	res, err := p.run(ctx, j.command())
	if err != nil {
		return Output{}, refusedTool(j.tool, missingProgram(j.argv[0], err))
	}
	res.Stdout, res.StdoutTruncated = cut(res.Stdout, j.output, res.StdoutTruncated)
	res.Stderr, res.StderrTruncated = cut(res.Stderr, j.output, res.StderrTruncated)
	return Output{Result: res, Timeout: j.timeout}, nil
}

// runProgram runs a program of the image or the workspace.
func (t Tools) runProgram(ctx context.Context, p Place, j job) (Output, error) {
	p = t.withWorkspace(p)
	defer t.Ahead.used(t.sortOf(p, j.command(), sandbox.InterpreterNone, "", false))
	return t.run(ctx, p, j)
}

// runCode runs code that is no file of the workspace.
func (t Tools) runCode(ctx context.Context, p Place, l language, code string, j job) (o Output, err error) {
	p = t.withWorkspace(p)
	s, err := t.stage(j.tool, p, t.jobSort(p, l, j), l.file, code)
	if err != nil {
		return Output{}, refusedTool(j.tool, err)
	}
	defer func() { err = errors.Join(err, s.end()) }()
	file, _ := p.inside(s)
	j.argv = append(l.argv, file)
	if !p.OnHost {
		p.Profile.Binds = append(slices.Clone(p.Profile.Binds), s.mounts(false, false)...)
	}
	return t.run(ctx, p, j)
}

// jobSort is the sort of the jobs that run code which is no file.
func (t Tools) jobSort(p Place, l language, j job) *sort {
	j.argv = append(l.argv, codeTarget+"/"+l.file)
	return t.sortOf(p, j.command(), l.interpreter, l.file, false)
}

// withWorkspace shows the workspace at its target, unless the place does so already.
func (t Tools) withWorkspace(p Place) Place {
	mounted := slices.ContainsFunc(p.Profile.Binds, func(m sandbox.Mount) bool { return m.Target == WorkspaceTarget })
	if !p.OnHost && !mounted {
		p.Profile.Binds = append(slices.Clone(p.Profile.Binds),
			sandbox.Mount{Source: t.Workspace, Target: WorkspaceTarget, Writable: true, Exec: true})
	}
	return p
}

// missing says how what a program is to find in the workspace gets there. A relative path would not do: write_file's belong
// to the first root, which need not be the workspace.
func (s spot) missing(tool Name, dir bool) error {
	inside := plainName(short(path.Join(WorkspaceTarget, filepath.ToSlash(s.name))))
	fix := "write it first, with write_file, to " + inside
	if dir {
		fix = "make it first, with shell_exec, which starts in " + WorkspaceTarget + ": mkdir -p " + inside
	}
	return &sandbox.Error{
		Kind: sandbox.KindInvalid, Op: string(tool), Cause: fmt.Errorf("%q: %w", short(s.asked), fs.ErrNotExist), Fix: fix,
	}
}

// programPath is the path by which a program finds a directory or a regular file of the workspace.
func (t Tools) programPath(p Place, tool Name, asked string, dir bool) (string, error) {
	if t.Workspace == "" {
		return "", refusedTool(tool, &sandbox.Error{
			Kind: sandbox.KindRefused, Cause: errors.New("isolation has no workspace root"), Fix: "let the operator set one",
		})
	}
	in := t
	in.Roots = []string{t.Workspace}
	s, err := in.locate(tool, cmp.Or(asked, WorkspaceTarget))
	if err != nil {
		return "", err
	}
	defer s.Close()
	if err := s.checkFile(tool); err != nil && !dir {
		return "", err
	}
	info, err := s.Stat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", s.missing(tool, dir)
	case err != nil:
		return "", s.fault(tool, err)
	case dir && !info.IsDir():
		return "", s.invalid(tool, "it is no directory")
	case !dir && !info.Mode().IsRegular():
		return "", s.invalid(tool, errNotRegular.Error())
	case p.OnHost:
		return filepath.Join(t.Workspace, s.name), nil
	}
	return path.Join(WorkspaceTarget, strings.TrimPrefix(filepath.ToSlash(s.name), "./")), nil
}
