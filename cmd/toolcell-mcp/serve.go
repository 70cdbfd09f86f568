package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// program is what the server is started with.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)

	file, backend string
	idle          time.Duration
	diskMB        int64
	http          httpFlags
}

// usageTemplate is cobra's, shorter.
const usageTemplate = `Usage:
  {{.UseLine}}

Examples:
{{.Example}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}

EXIT STATUS:
  0         the client has gone, and with it everything that was made for it
  125       there was no server: toolcell says why on stderr
  130, 143  interrupted, terminated
`

func (p *program) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp [flags]",
		Long: "mcp serves the tools run_code, shell_exec, write_file, read_file and list_files to a client of the Model Context\n" +
			"Protocol. Their programs run where the configuration says, natively sandboxed where there is none. It serves the one\n" +
			"client on stdin and stdout, or with --listen any number over HTTP.\n\n" +
			"shell_exec and write_file work in a session, a workspace that is made for the first such call and named by session_id\n" +
			"in the others. It is gone when nobody used it for a while, and with the server.",
		Example: "  claude mcp add toolcell -- toolcell mcp\n" +
			"  TOOLCELL_MCP_TOKEN=$(openssl rand -hex 16) toolcell mcp --listen 127.0.0.1:8931",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "toolcell mcp"},
		SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(fmt.Errorf("%q is too much: it takes flags alone", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.file == "" && cmd.Flags().Changed("config") { // a script's unset variable, and no wish for another file
				return misused(errors.New("--config: the file has no name"))
			}
			return p.serve(cmd.Context())
		},
	}
	cmd.SetOut(p.stdout)
	cmd.SetErr(p.stderr)
	cmd.SetUsageTemplate(usageTemplate)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return misused(err) })
	f := cmd.Flags()
	f.StringVar(&p.file, "config", "", "the operator's file")
	f.StringVar(&p.backend, "backend", "", "the backend, in place of the configuration's")
	f.DurationVar(&p.idle, "idle", server.DefaultIdle, "how long a session is kept without a call")
	f.Int64Var(&p.diskMB, "disk-mb", server.DefaultDisk>>20, "how much a session's workspace may hold")
	p.http.add(f)
	return cmd
}

func misused(cause error) error {
	return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "mcp", Cause: cause, Fix: "see `toolcell mcp --help`"}
}

// serve serves until the client has gone, or the context ends.
func (p *program) serve(ctx context.Context) (err error) {
	listen, err := p.http.check(p.lookupEnv)
	if err != nil {
		return err
	}
	if p.idle <= 0 {
		return misused(errors.New("--idle: it has to be more than nothing"))
	}
	if p.diskMB <= 0 || p.diskMB > 1<<30 {
		return misused(fmt.Errorf("--disk-mb: it has to be between 1 and %d", 1<<30))
	}
	c, err := config.Load(config.Options{File: p.file, Backend: p.backend, LookupEnv: p.lookupEnv})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	dir, left, err := server.MakeDir("")
	if left != nil {
		log.Warn("what a killed server left could not be removed", "err", left)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	c.Sandbox.Workspace = dir.Path // each session's is below it
	runner, err := backends.Open(ctx, c, backends.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	s := server.New(ctx, server.Options{
		Tools: runner.Tools(config.Agent{}), Dir: dir.Path, Idle: p.idle, Disk: p.diskMB << 20, Logger: log,
	})
	defer func() { err = errors.Join(err, s.Close()) }()
	if listen != nil {
		return listen.serve(ctx, s, p.stderr)
	}
	return ended(ctx, s.ServeLines(ctx, p.stdin, p.stdout))
}

// ended forgets an error that says that the context ended, which is known.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
