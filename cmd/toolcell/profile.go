package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
	"github.com/soulacy/toolcell/seccomp"
)

// explainer is a backend that can print the steps by which it would confine a call.
type explainer interface {
	Explain(context.Context, sandbox.ContainerProfile, sandbox.Command) (string, error)
}

// profileViews are the forms in which a profile is shown; none of them set is the table.
type profileViews struct{ plan, docker, seccomp bool }

func (a *app) profileCmd() *cobra.Command {
	var v profileViews
	p := a.parser(true,
		dockerargs.Switch{Name: "plan", Usage: "print the steps that would build the sandbox", Value: &v.plan},
		dockerargs.Switch{Name: "docker", Usage: "print the same profile as a docker command line", Value: &v.docker},
		dockerargs.Switch{Name: "seccomp", Usage: "print the system call filter as docker's JSON", Value: &v.seccomp},
	)
	return dockerFlags(&cobra.Command{
		Use:   "profile [--plan | --docker | --seccomp | --json] [run's flags] [IMAGE [COMMAND...]]",
		Short: "Show the profile that `run` with these flags would use",
		Long: "profile spells out every default of the profile for run's flags: as a table, as JSON, as a docker command line, or\n" +
			"as the list of system calls that builds the sandbox. It runs nothing.",
		Example: "  toolcell profile --memory 256m\n  toolcell profile --plan host python3\n" +
			"  toolcell profile --seccomp > toolcell.json && docker run --security-opt seccomp=toolcell.json …",
		Annotations: exitTable(plainExit),
		RunE: func(cmd *cobra.Command, args []string) error {
			inv, err := p.Parse(args)
			if errors.Is(err, dockerargs.ErrHelp) {
				return cmd.Help()
			}
			if err == nil {
				err = a.showProfile(cmd.Context(), inv, v)
			}
			return a.finish(cmd.Context(), err, inv.JSON)
		},
	}, p)
}

func (a *app) showProfile(ctx context.Context, inv dockerargs.Invocation, v profileViews) error {
	p := inv.Profile.WithDefaults()
	if inv.JSON && v != (profileViews{}) {
		return sandbox.Invalid("profile", "--json is a form of its own: it and --plan, --docker and --seccomp exclude each other")
	}
	switch v {
	case profileViews{}:
		if inv.JSON {
			return a.writeJSON(newProfileJSON(p))
		}
		return a.profileTable(p)
	case profileViews{plan: true}:
		return a.showPlan(ctx, inv)
	case profileViews{docker: true}:
		return a.println(dockerLine(p, inv.Command))
	case profileViews{seccomp: true}:
		return a.println(strings.TrimRight(string(seccomp.JSON(seccomp.Options{Inotify: p.Inotify})), "\n"))
	default:
		return sandbox.Invalid("profile", "--plan, --docker and --seccomp exclude each other")
	}
}

func (a *app) println(s string) error {
	if isTerminal(a.stdout) {
		s = escapeText(s)
	}
	_, err := fmt.Fprintln(a.stdout, s)
	return err
}

// showPlan asks the backend for its steps, for the program true when none is named.
func (a *app) showPlan(ctx context.Context, inv dockerargs.Invocation) (err error) {
	cl, err := a.prepare(ctx, inv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cl.backend.Close()) }()
	e, ok := cl.backend.(explainer)
	if !ok {
		return sandbox.Invalid("--plan", "the backend %s has no list of steps", cl.backend.Name())
	}
	argv := inv.Command
	if len(argv) == 0 {
		argv = []string{"true"}
	}
	text, err := e.Explain(ctx, cl.profile, sandbox.Command{Argv: argv, ID: inv.Name})
	if err != nil {
		return err
	}
	return a.println(strings.TrimRight(text, "\n"))
}

// dockerLine is the command line for an engine. The engine's caller keeps the values of the environment to itself, so
// only their names stand in it.
func dockerLine(p sandbox.ContainerProfile, command []string) string {
	image := p.Image
	if image == "" || image == sandbox.ImageHost {
		image = "python:3.12-slim"
	}
	if p.User == sandbox.UserAuto {
		p.User = autoUser(os.Getuid(), os.Getgid())
	}
	for i, e := range p.Env {
		p.Env[i], _, _ = strings.Cut(e, "=")
	}
	words := append([]string{"docker"}, p.RunArgs(image, command...)...)
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return strings.Join(words, " ")
}

// autoUser is who "auto" means for an engine: the caller, but never root, and on Windows, which has no ids, nobody.
func autoUser(uid, gid int) string {
	if uid <= 0 || gid <= 0 {
		return "65532:65532"
	}
	return fmt.Sprintf("%d:%d", uid, gid)
}

// shellQuote returns a word that a POSIX shell reads as s.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// profileJSON is the effective profile in JSON.
type profileJSON struct {
	Image        string              `json:"image"`
	Network      string              `json:"network"`
	User         string              `json:"user"`
	Workdir      string              `json:"workdir"`
	MemoryMB     int                 `json:"memory_mb"`
	CPUs         float64             `json:"cpus"`
	CPUSeconds   int                 `json:"cpu_seconds"`
	TimeoutMS    int64               `json:"timeout_ms"`
	PIDs         int                 `json:"pids"`
	OpenFiles    int                 `json:"open_files"`
	FileSizeMB   int                 `json:"file_size_mb"`
	OutputKB     int                 `json:"output_kb"`
	TmpMB        int                 `json:"tmp_mb"`
	ShmMB        int                 `json:"shm_mb"`
	ScratchExec  bool                `json:"scratch_exec"`
	Runtime      string              `json:"runtime"`
	Mounts       []mountJSON         `json:"mounts"`
	Env          []string            `json:"env"`
	Interpreters []string            `json:"interpreters"`
	Require      []sandbox.Guarantee `json:"require"`
}

type mountJSON struct {
	Source    string `json:"source"`
	Target    string `json:"target"`
	Writable  bool   `json:"writable"`
	Exec      bool   `json:"exec"`
	Recursive bool   `json:"recursive"`
}

func newProfileJSON(p sandbox.ContainerProfile) profileJSON {
	j := profileJSON{
		Image: p.Image, Network: p.Network, User: p.User, Workdir: p.Workdir,
		MemoryMB: p.Limits.MemoryMB, CPUs: p.Limits.CPUs, CPUSeconds: p.Limits.CPUSeconds, TimeoutMS: p.Limits.Wall.Milliseconds(),
		PIDs: p.PIDs, OpenFiles: p.Limits.OpenFiles, FileSizeMB: p.Limits.FileSizeMB, OutputKB: p.Limits.OutputKB,
		TmpMB: p.TmpfsMB, ShmMB: p.ShmMB, ScratchExec: p.ScratchExec, Runtime: p.Runtime,
		Mounts: []mountJSON{}, Env: append([]string{}, p.Env...), Interpreters: append([]string{}, p.Interpreters...),
		Require: append([]sandbox.Guarantee{}, p.Require...),
	}
	mounts, _ := p.AllMounts() // the command line was validated
	for _, m := range mounts {
		j.Mounts = append(j.Mounts, mountJSON(m))
	}
	return j
}

func (a *app) profileTable(p sandbox.ContainerProfile) error {
	l := p.Limits
	image := p.Image
	if image == "" {
		image = "the backend's own"
	}
	rows := [][2]string{
		{"image", image},
		{"network", p.Network},
		{"user", p.User},
		{"working directory", p.Workdir},
		{"memory", fmt.Sprintf("%d MiB, no swap", l.MemoryMB)},
		{"cpus", fmt.Sprintf("%g", l.CPUs)},
		{"cpu time", fmt.Sprintf("%d s", l.CPUSeconds)},
		{"timeout", l.Wall.String()},
		{"processes", fmt.Sprint(p.PIDs)},
		{"open files", fmt.Sprint(l.OpenFiles)},
		{"file size", fmt.Sprintf("%d MiB", l.FileSizeMB)},
		{"output", fmt.Sprintf("%d KiB a stream", l.OutputKB)},
		{"/tmp", fmt.Sprintf("%d MiB, programs on it do not run", p.TmpfsMB)},
		{"/dev/shm", fmt.Sprintf("%d MiB, programs on it do not run", p.ShmMB)},
	}
	mounts, _ := p.AllMounts() // the command line was validated
	for _, m := range mounts {
		rows = append(rows, [2]string{"mount", m.Source + " at " + m.Target + mountWords(m)})
	}
	for _, e := range p.Env {
		name, _, _ := strings.Cut(e, "=")
		rows = append(rows, [2]string{"environment", name})
	}
	for _, g := range p.Require {
		rows = append(rows, [2]string{"required also", string(g)})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\n", r[0], escapeText(r[1]))
	}
	return w.Flush()
}

func mountWords(m sandbox.Mount) string {
	words := ", read-only"
	if m.Writable {
		words = ", writable"
	}
	if m.Exec {
		words += ", programs run"
	}
	if m.Recursive {
		words += ", with what is mounted below"
	}
	return words
}
