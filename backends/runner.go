package backends

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
	"github.com/soulacy/toolcell/sandbox/policy"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// Runner is what a gateway runs its tools through: one choice of a backend, made at the start and kept. The zero value
// refuses every call. It is safe for concurrent use.
type Runner struct {
	config    *config.Config
	options   Options
	policy    policy.Policy
	workspace error // why builtins have none, though one is configured
	backends  *slots
	ahead     *tools.Ahead
	messages  []policy.Message
}

// Open makes the runner of a configuration. It chooses the backend (auto by asking each whether it is ready), opens it and
// those that executor.backend and the agents insist on, makes the workspace, and logs what an operator has to know.
//
// A machine on which nothing isolates is no error: the runner then refuses what would have to be isolated, and its checks
// and messages say why and what to do. An error means that the configuration cannot be meant.
func Open(ctx context.Context, c *config.Config, o Options) (*Runner, error) {
	if c == nil {
		return nil, sandbox.Invalid("open", "no configuration")
	}
	if err := baseProfile(c, c.Backend()).Validate(); err != nil { // one that no file was read into
		return nil, fmt.Errorf("open: %w", err)
	}
	r := &Runner{config: c, options: o}
	r.backends = &slots{open: r.openSlot}
	b, selection := choose(ctx, c, o)
	if selection.Backend != "" {
		r.backends.put(slot{name: selection.Backend}, b, chosenErr(b, selection))
	}
	r.policy = policy.New(c, selection, r.exact(selection.Backend)...)
	if dir := c.WorkspaceDir(); dir != "" && !o.Inspect {
		r.workspace = tools.MakeWorkspace(dir)
	}
	if c.Sandbox.Armed && !o.Once && !o.Inspect && !o.Cold {
		r.ahead = tools.NewAhead(tools.Keep{Count: readyEach, Preload: c.Sandbox.Preload, Pin: c.Sandbox.Pin})
	}
	var unprepared error
	if o.Prepare {
		unprepared = r.Prepare(ctx)
	}
	if !o.Once && !o.Inspect {
		r.policy = r.policy.WithAnswers(r.answers(ctx, o.Agents)...)
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("open: %w", err), r.Close())
	}
	r.messages = r.policy.Messages(o.Agents...)
	if unprepared != nil {
		r.messages = append(r.messages, policy.Message{Level: slog.LevelError, Text: "not everything could be prepared", Attrs: []slog.Attr{slog.String("reason", distinct(unprepared))}})
	}
	if !o.Inspect {
		for _, m := range r.messages {
			m.Log(ctx, o.Logger)
		}
	}
	return r, nil
}

// readyEach is how many sandboxes stand ready for each sort of call: models make several at a time, and rarely many.
const readyEach = 2

// chosenErr is why the chosen backend is not there at all; one that is there and not ready refuses by itself.
func chosenErr(b sandbox.Backend, s policy.Selection) error {
	if b != nil {
		return nil
	}
	for _, p := range s.Tried {
		if p.Backend == s.Backend && p.Err != nil {
			return p.Err
		}
	}
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "open " + s.Backend, Cause: errors.New("it was not opened")}
}

// exact are the backends beside the chosen one that the operator or an agent insists on.
func (r *Runner) exact(chosen string) []string {
	words := []config.Execution{r.config.Executor.Backend}
	for _, a := range r.options.Agents {
		words = append(words, a.Backend)
	}
	var out []string
	for _, w := range words {
		if name := w.Exact(); name != "" && name != chosen && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// openSlot opens one of the runner's backends.
func (r *Runner) openSlot(ctx context.Context, s slot) (sandbox.Backend, error) {
	if s.mode != "" { // what it is, the messages say
		b, err := host.Open(host.Config{Mode: s.mode, Program: r.options.Host})
		if err != nil {
			return nil, err // and not a nil *host.Backend in an interface
		}
		return b, nil
	}
	return r.options.open(ctx, s.name, r.options.backendConfig(r.config, s.imageUser))
}

// Policy is the policy that decides where calls run.
func (r *Runner) Policy() policy.Policy { return r.policy }

// Checks asks the backends again and returns the launch check: the choice of the backend, then for every path that a call
// can take, and for every path of these agents, where it runs. The words are those of the messages.
func (r *Runner) Checks(ctx context.Context, agents ...config.Agent) []doctor.Check {
	if r.config == nil {
		return r.policy.Checks(agents...)
	}
	return r.policy.WithAnswers(r.answers(ctx, agents)...).Checks(agents...)
}

// Doctor asks each of the runner's isolating backends what it enforces: whether it can be had, whether a call would run,
// and every guarantee. The lines of the chosen one come first; the names of the others' begin with the backend.
func (r *Runner) Doctor(ctx context.Context) []doctor.Check {
	chosen := r.policy.Selection()
	if err := chosen.Err(); err != nil {
		return []doctor.Check{doctor.FromError("backend", err)}
	}
	out := r.examine(ctx, slot{name: chosen.Backend}, baseProfile(r.config, chosen.Backend))
	for _, s := range r.others() {
		for _, c := range r.examine(ctx, s, r.config.ToolProfile(s.name)) {
			c.Name = s.label() + "/" + c.Name
			out = append(out, c)
		}
	}
	return out
}

func (r *Runner) examine(ctx context.Context, s slot, p sandbox.ContainerProfile) []doctor.Check {
	start := time.Now()
	b, err := r.backends.get(ctx, s)
	opened := doctor.Opened(s.name, err, start)
	if err != nil {
		return []doctor.Check{opened}
	}
	return append([]doctor.Check{opened}, doctor.Examine(ctx, b, p)...)
}

// others are the isolating backends beside the chosen one, which are those of Python tools.
func (r *Runner) others() []slot {
	chosen := r.policy.Selection().Backend
	var out []slot
	for _, name := range append([]string{chosen}, r.exact(chosen)...) {
		s := slot{name: name, imageUser: config.IsEngine(name) && r.config.KeepsImageUser()}
		if s.name != chosen || s.imageUser {
			out = append(out, s)
		}
	}
	return out
}

// Messages are what was logged at the start.
func (r *Runner) Messages() []policy.Message { return r.messages }

// Tools returns the tools of one agent. The zero Agent asks for nothing. A gateway keeps the value as long as the agent's
// manifest stays the same.
func (r *Runner) Tools(a config.Agent) tools.Tools {
	t := tools.Tools{Chooser: chooser{r, a}, Agent: a.ID, Ahead: r.ahead, Download: tools.DownloadRules{Fetcher: r.options.Download}}
	if r.config != nil {
		t.Workspace, t.Roots = r.config.WorkspaceDir(), r.config.Roots()
		if r.config.File != "" {
			t.Protected = []string{r.config.File}
		}
		t.Python = tools.PythonRules{AllowedDirs: r.config.Runtime.AllowedToolDirs, Env: a.Env}
	}
	return t
}

// Prepare does ahead what calls must not spend their time on, such as fetching images: for calls of no agent in particular,
// and for the agents known at the start that insist on a backend of their own. Paths that the policy refuses are left out.
func (r *Runner) Prepare(ctx context.Context) error {
	errs := []error{r.Tools(config.Agent{}).Prepare(ctx)}
	for _, a := range r.options.Agents {
		if a.Backend.Exact() != "" {
			errs = append(errs, r.Tools(a).Prepare(ctx))
		}
	}
	return errors.Join(errs...)
}

// Close ends what runs and gives everything back. Calls after it are refused.
func (r *Runner) Close() error {
	if r.backends == nil {
		return nil
	}
	return errors.Join(r.ahead.Close(), r.backends.close())
}
