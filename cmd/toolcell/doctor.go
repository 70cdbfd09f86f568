package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
	"github.com/soulacy/toolcell/sandbox/doctor"
)

func (a *app) doctorCmd() *cobra.Command {
	var inv dockerargs.Invocation
	var strict bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which guarantees hold on this machine, and how to mend the others",
		Long: "doctor asks the backend what a call with the default profile would enforce here. The backend finds out by doing,\n" +
			"not by version numbers. Every guarantee is one line: ok, warn (missing, and calls run without it) or fail (missing,\n" +
			"and calls are refused).",
		Example:     "  toolcell doctor\n  toolcell doctor --json | jq '.[] | select(.status != \"ok\")'",
		Annotations: exitTable(checkExit),
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.finish(cmd.Context(), a.examine(cmd.Context(), inv, strict), inv.JSON)
		},
	}
	cmd.Flags().BoolVar(&inv.JSON, "json", false, "print the checks as JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 1 also on a warning")
	cmd.Flags().StringVar(&inv.Backend, "backend", "", "the backend to ask (default: the configuration's)")
	cmd.Flags().StringVar(&inv.Config, "config", "", "the operator's file with images and waivers")
	return cmd
}

func (a *app) checkCmd() *cobra.Command {
	var strict bool
	p := a.parser(true, dockerargs.Switch{Name: "strict", Usage: "exit 1 also on a warning", Value: &strict})
	return dockerFlags(&cobra.Command{
		Use:   "check [run's flags] [IMAGE [COMMAND...]]",
		Short: "Say what `run` with these flags would enforce, without running anything",
		Long: "check reads run's command line and prints what doctor prints, for that profile: whether the flags are taken, what\n" +
			"they leave to the hardened profile, and whether a call would be refused.",
		Example:     "  toolcell check -v /srv/data:/data --memory 2g host python3",
		Annotations: exitTable(checkExit),
		RunE: func(cmd *cobra.Command, args []string) error {
			inv, err := p.Parse(args)
			if errors.Is(err, dockerargs.ErrHelp) {
				return cmd.Help()
			}
			if err == nil {
				err = a.examine(cmd.Context(), inv, strict)
			}
			return a.finish(cmd.Context(), err, inv.JSON)
		},
	}, p)
}

// examine prints the checks of a profile and returns their exit code.
func (a *app) examine(ctx context.Context, inv dockerargs.Invocation, strict bool) error {
	checks := a.checks(ctx, inv)
	var err error
	if inv.JSON {
		err = a.writeJSON(checks)
	} else {
		for i, c := range checks {
			checks[i].Mechanism, checks[i].Detail, checks[i].Remedy = escapeText(c.Mechanism), escapeText(c.Detail), escapeText(c.Remedy)
		}
		err = doctor.Render(a.stdout, checks, isTerminal(a.stdout))
	}
	if code := doctor.ExitCode(checks, strict); err == nil && code != 0 {
		return exitCode(code)
	}
	return err
}

// checks asks the backend, and says first whether there is one to ask.
func (a *app) checks(ctx context.Context, inv dockerargs.Invocation) []doctor.Check {
	start := time.Now()
	cl, err := a.prepare(ctx, inv)
	opened := timed(doctor.FromError("backend", err), start)
	if err != nil {
		return []doctor.Check{opened}
	}
	name := cl.backend.Name()
	opened.Mechanism = name
	out := []doctor.Check{opened}
	if len(inv.Applied) > 0 && inv.Profile.Image != "" {
		out = append(out, doctor.Check{Name: "flags", Status: doctor.OK, Detail: "applied all the same: " + strings.Join(inv.Applied, ", ")})
	}
	for _, h := range cl.hints {
		out = append(out, doctor.Check{Name: "environment", Status: doctor.Warn, Detail: h})
	}
	start = time.Now()
	report, err := cl.backend.Ready(ctx, cl.profile)
	ready := timed(readyCheck(err), start)
	found := doctor.FromReport(report, doctor.Required(name, cl.profile))
	out = append(out, ready)
	if len(report) > 0 {
		out = append(out, found...)
	}
	if err := cl.backend.Close(); err != nil {
		out = append(out, doctor.FromError("close", err))
	}
	return out
}

// readyCheck says whether a call would run at all.
func readyCheck(err error) doctor.Check {
	c := doctor.FromError("call", err)
	if err == nil {
		c.Mechanism = "would run"
	}
	if errors.Is(err, sandbox.ErrRefused) {
		c.Mechanism = "would be refused"
	}
	return c
}

func timed(c doctor.Check, start time.Time) doctor.Check {
	d := time.Since(start)
	c.Elapsed = &d
	return c
}
