package backends

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/policy"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// answers asks the backends about every path, as calls of no agent and of these agents take it.
func (r *Runner) answers(ctx context.Context, agents []config.Agent) []policy.Answer {
	asked := map[string]error{}
	var out []policy.Answer
	for _, a := range append([]config.Agent{{}}, agents...) {
		for _, path := range policy.Paths() {
			d, err := r.policy.Decide(policy.Request{Path: path, Agent: a})
			if err != nil {
				continue // refused, whatever a backend says
			}
			out = append(out, policy.Answer{Path: path, Backend: r.answering(d), Err: r.ask(ctx, path, d, asked)})
		}
	}
	return out
}

// answering is the backend on which a decision depends.
func (r *Runner) answering(d policy.Decision) string {
	if d.Level == policy.Contained {
		return r.policy.Selection().Backend
	}
	return d.Backend
}

// ask asks for every profile that the calls of a path run under, each once.
func (r *Runner) ask(ctx context.Context, path policy.Path, d policy.Decision, asked map[string]error) error {
	if path == policy.DownloadFile && r.options.Download == nil && !r.options.Inspect { // who only looks downloads for nobody
		return &sandbox.Error{Kind: sandbox.KindRefused, Op: string(path), Cause: errors.New("this program downloads nothing")}
	}
	languages := []string{""}
	if path == policy.RunCode {
		languages = tools.Languages()
	}
	var errs []error
	for _, language := range languages {
		p, err := r.place(ctx, path, d, language)
		if err != nil {
			return err
		}
		if p.Backend == nil {
			continue
		}
		key := fmt.Sprintf("%p %+v", p.Backend, p.Profile)
		if _, ok := asked[key]; !ok {
			_, asked[key] = p.Backend.Ready(ctx, r.lookable(p.Profile))
		}
		if err := asked[key]; err != nil {
			errs = append(errs, err)
		}
	}
	return first(errs)
}

// lookable is a profile without the workspace where that is not made yet, and is not to be.
func (r *Runner) lookable(p sandbox.ContainerProfile) sandbox.ContainerProfile {
	if !r.options.Inspect || len(p.Binds) == 0 {
		return p
	}
	if _, err := os.Lstat(r.config.WorkspaceDir()); errors.Is(err, os.ErrNotExist) {
		p.Binds, p.Workdir = nil, sandbox.DefaultWorkdir
	}
	return p
}

// first keeps the kind of the first error.
func first(errs []error) error {
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}
