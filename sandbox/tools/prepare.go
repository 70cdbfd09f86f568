package tools

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/sandbox"
)

// Prepare does ahead what calls must not spend their time on: it prepares the images of run_code's languages, of the
// builtins and of agents' own tools, each once, and has [Tools].Ahead begin with what run_code and the builtins need. Tools
// that the Chooser refuses are left out; everything else that fails is in the error.
func (t Tools) Prepare(ctx context.Context) error {
	requests := []Request{{Tool: NameShellExec}, {Tool: NamePythonEval}, {Tool: NamePythonFile}}
	for _, l := range languages() {
		requests = append(requests, Request{Tool: NameRunCode, Language: l.name})
	}
	type image struct{ backend, name string }
	done := map[image]error{}
	var errs []error
	for _, r := range requests {
		p, err := t.enter(ctx, r)
		if errors.Is(err, sandbox.ErrRefused) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key := image{p.Backend.Name(), p.Profile.Image}
		err, seen := done[key]
		if !seen {
			err = p.Backend.Prepare(ctx, p.Profile)
			done[key] = err
			errs = append(errs, err)
		}
		if err == nil {
			t.Ahead.used(t.likely(p, r))
		}
	}
	return errors.Join(errs...)
}

// likely is the sort of the calls of a tool that are likely to come, or nil where only a call says that.
func (t Tools) likely(p Place, r Request) *sort {
	switch {
	case r.Tool == NameRunCode:
		l, err := findLanguage(r.Language)
		if err != nil {
			return nil
		}
		return t.codeSort(p.forCode(), l, nil)
	case r.Tool.ownTool() || t.Workspace == "":
		return nil
	case r.Tool == NamePythonEval:
		l, j, err := t.evalJob(p, Streams{})
		if err != nil {
			return nil
		}
		return t.jobSort(t.withWorkspace(p), l, j)
	default:
		return t.sortOf(t.withWorkspace(p), sandbox.Command{Dir: WorkspaceTarget}, sandbox.InterpreterNone, "", false)
	}
}
