package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
	"github.com/soulacy/toolcell/sandbox/doctor"
)

// view is how checks are shown: all of them or the problems alone, as JSON or text. strict makes a warning a failure.
type view struct{ strict, problems, json bool }

const (
	strictUsage   = "exit 1 also on a warning"
	problemsUsage = "print only what is not ok"
)

func (a *app) doctorCmd() *cobra.Command {
	var inv dockerargs.Invocation
	var v view
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which guarantees hold on this machine, and how to mend the others",
		Long: "doctor asks the backend what a call with the default profile would enforce here. The backend finds out by doing,\n" +
			"not by version numbers. Every guarantee is one line: ok, warn (missing, and calls run without it) or fail (missing,\n" +
			"and calls are refused). Where there is a configuration file, a line for every path that a gateway's call can take\n" +
			"says where it runs.",
		Example:     "  toolcell doctor\n  toolcell doctor --problems\n  toolcell doctor --json | jq '.[] | select(.guarantee == \"net.none\")'",
		Annotations: exitTable(checkExit),
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.finish(cmd.Context(), a.show(a.launchChecks(cmd.Context(), inv, ""), v), v.json)
		},
	}
	cmd.Flags().BoolVar(&v.json, "json", false, "print the checks as JSON")
	cmd.Flags().BoolVar(&v.problems, "problems", false, problemsUsage)
	cmd.Flags().BoolVar(&v.strict, "strict", false, strictUsage)
	cmd.Flags().StringVar(&inv.Backend, "backend", "", "the backend to ask (default: the configuration's)")
	cmd.Flags().Var((*fileName)(&inv.Config), "config", "the operator's file with images and waivers")
	return cmd
}

func (a *app) checkCmd() *cobra.Command {
	var v view
	var agents string
	p := a.parser(true,
		dockerargs.Switch{Name: "agents", Arg: "DIR", Usage: "also every agent whose " + config.AgentFile + " is in DIR, or one level below", Text: &agents},
		dockerargs.Switch{Name: "problems", Usage: problemsUsage, Value: &v.problems},
		dockerargs.Switch{Name: "strict", Usage: strictUsage, Value: &v.strict})
	return dockerFlags(&cobra.Command{
		Use:   "check [--agents DIR | run's flags [IMAGE [COMMAND...]]]",
		Short: "Say where every call of a gateway would run, or what `run` with these flags would enforce",
		Long: "check without run's flags is a gateway's launch check: what doctor says, and for every path that a call can take, and\n" +
			"every agent, the backend that it ends on, what is not isolated, and what would be refused.\n\n" +
			"With run's command line check prints what doctor prints, for that profile: whether the flags are taken, what they leave\n" +
			"to the hardened profile, and whether a call would be refused. It runs nothing.",
		Example: "  toolcell check --config /etc/soulacy/config.yaml --agents /srv/soulacy/agents --problems\n" +
			"  toolcell check -v /srv/data:/data --memory 2g host python3",
		Annotations: exitTable(checkExit),
		RunE: func(cmd *cobra.Command, args []string) error {
			inv, err := p.Parse(args)
			if errors.Is(err, dockerargs.ErrHelp) {
				return cmd.Help()
			}
			v.json = inv.JSON
			if err == nil {
				err = a.check(cmd.Context(), inv, agents, v)
			}
			return a.finish(cmd.Context(), err, inv.JSON)
		},
	}, p)
}

// check decides which of its two questions the command line asks.
func (a *app) check(ctx context.Context, inv dockerargs.Invocation, agents string, v view) error {
	own := []string{"agents", "backend", "config", "json", "problems", "strict"}
	ofRun := slices.DeleteFunc(slices.Clone(inv.Flags), func(name string) bool { return slices.Contains(own, name) })
	call := inv.Profile.Image != "" || len(ofRun) > 0
	if call && agents != "" {
		return sandbox.Invalid("--agents", "it is a gateway's launch check, and the rest of the line is a call of `run`")
	}
	if call {
		return a.show(a.callChecks(ctx, inv), v)
	}
	return a.show(a.launchChecks(ctx, inv, agents), v)
}

// show prints checks and returns their exit code.
func (a *app) show(checks []doctor.Check, v view) error {
	code := doctor.ExitCode(checks, v.strict)
	if v.problems {
		checks = slices.DeleteFunc(checks, func(c doctor.Check) bool { return c.Status == doctor.OK })
	}
	var err error
	if v.json {
		err = a.writeJSON(checks)
	} else {
		for i, c := range checks {
			checks[i].Name, checks[i].Mechanism = escapeText(c.Name), escapeText(c.Mechanism)
			checks[i].Detail, checks[i].Remedy = escapeText(c.Detail), escapeText(c.Remedy)
		}
		err = doctor.Render(a.stdout, checks, isTerminal(a.stdout))
	}
	if err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// launchChecks are what a gateway with this configuration and these agents would do. Where there is neither, only the
// machine is looked at.
func (a *app) launchChecks(ctx context.Context, inv dockerargs.Invocation, agentsDir string) []doctor.Check {
	c, err := a.loadConfig(inv.Config, inv.Backend)
	if err != nil {
		return problemChecks("configuration", err)
	}
	agents, agentsErr := loadAgents(agentsDir)
	o := a.options(c)
	o.Once, o.Inspect, o.Agents = false, true, agents
	r, err := backends.Open(ctx, c, o)
	if err != nil {
		return []doctor.Check{doctor.FromError("backend", err)}
	}
	out := r.Doctor(ctx)
	out = append(out, configChecks(c)...)
	if c.File != "" || agentsDir != "" {
		out = append(out, r.Checks(ctx, agents...)...)
	}
	out = append(out, problemChecks("agents", agentsErr)...)
	if err := r.Close(); err != nil {
		out = append(out, doctor.FromError("close", err))
	}
	return out
}

func loadAgents(dir string) ([]config.Agent, error) {
	if dir == "" {
		return nil, nil
	}
	agents, err := config.LoadAgents(dir)
	if len(agents) == 0 && err == nil {
		err = &config.Problem{File: dir, Cause: "no " + config.AgentFile + " in it, nor one level below"}
	}
	return agents, err
}

// problemChecks is one failure for each problem of a file.
func problemChecks(name string, err error) []doctor.Check {
	var out []doctor.Check
	for _, p := range config.Problems(err) {
		out = append(out, doctor.FromError(name, p))
	}
	if err != nil && out == nil {
		out = append(out, doctor.FromError(name, err))
	}
	return out
}

// configChecks say which file was read, and what of it was passed over.
func configChecks(c *config.Config) []doctor.Check {
	line := doctor.Check{Name: "configuration", Status: doctor.OK, Mechanism: "no file: the defaults"}
	if c.File != "" {
		line.Mechanism = c.File
	}
	out := []doctor.Check{line}
	for _, w := range c.Warnings {
		out = append(out, doctor.Check{Name: "configuration", Status: doctor.Warn, Detail: w.Error()})
	}
	return out
}

// callChecks are what a call of run would enforce; they say first whether there is a backend to ask.
func (a *app) callChecks(ctx context.Context, inv dockerargs.Invocation) []doctor.Check {
	start := time.Now()
	cl, err := a.prepare(ctx, inv)
	if err != nil {
		return []doctor.Check{doctor.Opened("", err, start)}
	}
	out := []doctor.Check{doctor.Opened(cl.backend.Name(), nil, start)}
	if len(inv.Applied) > 0 && inv.Profile.Image != "" {
		out = append(out, doctor.Check{Name: "flags", Status: doctor.OK, Detail: "applied all the same: " + strings.Join(inv.Applied, ", ")})
	}
	for _, h := range cl.hints {
		out = append(out, doctor.Check{Name: "environment", Status: doctor.Warn, Detail: h})
	}
	out = append(out, doctor.Examine(ctx, cl.backend, cl.profile)...)
	if err := cl.backend.Close(); err != nil {
		out = append(out, doctor.FromError("close", err))
	}
	return out
}
