package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Reply is the answer to a call by name.
type Reply struct {
	// Text is what a model reads. That of an error is "Error: " and the error.
	Text string
	// Structured is the result as JSON: a [sandbox.Result] of a tool that runs a program, [Written], [FileContent] or
	// [Listing] of the others; nil of an error.
	Structured json.RawMessage
	// Artifacts are the files that run_code brought back.
	Artifacts []Artifact
	// Err is why the call was not made as asked; nil when there is a result, whatever a program did.
	Err error
}

// IsError reports whether the call was not made as asked.
func (r Reply) IsError() bool { return r.Err != nil }

// Call calls a tool by its name with JSON arguments, as a model does. Unknown arguments are refused. The streams are a
// program's; the standard input of run_code is among its arguments.
func (t Tools) Call(ctx context.Context, name Name, arguments json.RawMessage, s Streams) Reply {
	result, err := t.dispatch(ctx, name, arguments, s)
	if err != nil {
		return failed(err)
	}
	return result
}

func failed(err error) Reply { return Reply{Text: "Error: " + err.Error(), Err: err} }

func (t Tools) dispatch(ctx context.Context, name Name, raw json.RawMessage, s Streams) (Reply, error) {
	switch name {
	case NameRunCode:
		return with(name, raw, func(a codeJSON) (Reply, error) { return t.callCode(ctx, a, s) })
	case NameShellExec:
		return with(name, raw, func(a shellJSON) (Reply, error) {
			return program(t.ShellExec(ctx, ShellArgs{
				Command: a.Command, WorkingDir: a.WorkingDir, Timeout: time.Duration(a.Timeout), Isolation: a.Isolation, Streams: s,
			}))
		})
	case NameRunScript:
		return with(name, raw, func(a scriptJSON) (Reply, error) {
			return program(t.RunScript(ctx, ScriptArgs{Path: a.Path, Args: a.Args, Isolation: a.Isolation, Streams: s}))
		})
	case NamePythonEval:
		return with(name, raw, func(a evalJSON) (Reply, error) {
			return program(t.PythonEval(ctx, EvalArgs{Code: a.Code, Isolation: a.Isolation, Streams: s}))
		})
	case NameInstallLibrary:
		return with(name, raw, func(a installJSON) (Reply, error) {
			return program(t.InstallLibrary(ctx, InstallArgs{
				Manager: a.Manager, Package: a.Package, Version: a.Version, Target: a.Target, Isolation: a.Isolation, Streams: s,
			}))
		})
	default:
		return t.dispatchFile(ctx, name, raw)
	}
}

func (t Tools) dispatchFile(ctx context.Context, name Name, raw json.RawMessage) (Reply, error) {
	switch name {
	case NameWriteFile:
		return with(name, raw, func(a writeJSON) (Reply, error) {
			if a.Content == nil {
				return Reply{}, sandbox.Invalid(string(name), `content is required; "" makes an empty file`)
			}
			return file(t.WriteFile(ctx, WriteArgs{Path: a.Path, Content: *a.Content, Isolation: a.Isolation}))
		})
	case NameReadFile:
		return with(name, raw, func(a readJSON) (Reply, error) {
			return file(t.ReadFile(ctx, ReadArgs{Path: a.Path, Offset: a.Offset, Limit: a.Limit, Isolation: a.Isolation}))
		})
	case NameListFiles:
		return with(name, raw, func(a listJSON) (Reply, error) {
			return file(t.ListFiles(ctx, ListArgs{Path: a.Path, Recursive: a.Recursive, Isolation: a.Isolation}))
		})
	case NameDownloadFile:
		return with(name, raw, func(a downloadJSON) (Reply, error) {
			return file(t.DownloadFile(ctx, DownloadArgs{URL: a.URL, Path: a.Path, Isolation: a.Isolation}))
		})
	default:
		return Reply{}, &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "tool " + plainName(short(string(name))), Cause: errors.New("there is no such tool"), Fix: "known: " + known(),
		}
	}
}

func known() string {
	var names []string
	for _, d := range Definitions() {
		names = append(names, string(d.Name))
	}
	return strings.Join(names, ", ")
}

// with decodes the arguments and hands them on.
func with[T any](name Name, raw json.RawMessage, call func(T) (Reply, error)) (Reply, error) {
	a, err := decode[T](name, raw)
	if err != nil {
		return Reply{}, err
	}
	return call(a)
}

func (t Tools) callCode(ctx context.Context, a codeJSON, s Streams) (Reply, error) {
	r, err := t.RunCode(ctx, CodeArgs{
		Language: a.Language, Code: a.Code, Timeout: time.Duration(a.Timeout), Network: a.Network, Isolation: a.Isolation,
		Stdin: strings.NewReader(a.Stdin), Stdout: s.Stdout, Stderr: s.Stderr,
	})
	if err != nil {
		return Reply{}, err
	}
	reply, err := structured(r.Text(), r.Result)
	reply.Artifacts = r.Artifacts
	return reply, err
}

func program(o Output, err error) (Reply, error) {
	if err != nil {
		return Reply{}, err
	}
	return structured(o.Text(), o.Result)
}

func file[T interface{ Text() string }](v T, err error) (Reply, error) {
	if err != nil {
		return Reply{}, err
	}
	return structured(v.Text(), v)
}

func structured[T any](text string, v T) (Reply, error) {
	b, err := json.Marshal(v)
	return Reply{Text: text, Structured: b}, err
}
