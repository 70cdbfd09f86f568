package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/cmd/internal/interrupt"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// app is what the commands share; a test replaces its fields.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	// lazy says that a call follows whatever the backend is like, so that nothing waits for it to be ready.
	lazy bool
	// progress receives what an engine says while it fetches an image; nil for nobody.
	progress io.Writer
	open     backends.Opener
}

// run is the whole program: it runs the command line args and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == execSandboxName {
		return int(execSandbox(args[1:], os.Environ(), stderr)) // before any signal is caught that is the command's
	}
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: os.LookupEnv, open: backends.OpenBackend}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	ctx, stop := interrupt.Context(ctx)
	defer stop()
	err := a.command(ctx, args)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	default:
		return int(a.report(ctx, err, asksJSON(args)))
	}
}

// asksJSON reports whether a command line that was not taken asks for JSON, which an error is then too.
func asksJSON(args []string) bool {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Contains(args[:end], "--json")
}

// command runs the command that args name. run is what gateways start for every call, so it is not kept waiting by the
// building of the others; only its help, which lists them, needs them.
func (a *app) command(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == runName {
		if err := a.runArgs(ctx, args[1:]); !errors.Is(err, dockerargs.ErrHelp) {
			return err
		}
	}
	root := a.root()
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}

// exitCode ends the program with a status, everything there is to say having been said.
type exitCode int

// Error is never shown.
func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// The program's own exit codes; they mean the same as an engine's.
const (
	exitOwn           exitCode = 125
	exitNotExecutable exitCode = 126
	exitNotFound      exitCode = 127
)

// report says why the sandbox did not run the program, in one line or as JSON, and returns the exit code for it.
func (a *app) report(ctx context.Context, err error, asJSON bool) exitCode {
	if asJSON {
		if jerr := a.writeJSON(map[string]error{"error": typed(err)}); jerr == nil {
			return codeOf(ctx, err)
		}
	}
	if problems := config.Problems(err); len(problems) > 0 {
		a.listProblems(problems)
		return codeOf(ctx, err)
	}
	fmt.Fprintln(a.stderr, "toolcell: "+escapeText(err.Error()))
	return codeOf(ctx, err)
}

// typed returns err as the error that has a JSON form.
func typed(err error) *sandbox.Error {
	if problems := config.Problems(err); len(problems) > 1 {
		return &sandbox.Error{
			Kind: sandbox.KindInvalid, Cause: fmt.Errorf("%w; problems in all: %d", problems[0], len(problems)),
			Fix: "`toolcell config check --json` has them all",
		}
	}
	var e *sandbox.Error
	if errors.As(err, &e) {
		return e
	}
	return &sandbox.Error{Kind: sandbox.KindInvalid, Cause: err}
}

func codeOf(ctx context.Context, err error) exitCode {
	switch code := interrupt.Code(ctx); {
	case code != 0:
		return exitCode(code)
	case errors.Is(err, sandbox.ErrNotFound):
		return exitNotFound
	case errors.Is(err, sandbox.ErrNotExecutable):
		return exitNotExecutable
	default:
		return exitOwn
	}
}

// writeJSON writes v as one line for a program, indented and with nothing that steers a terminal on one.
func (a *app) writeJSON(v any) error {
	terminal := isTerminal(a.stdout)
	var data []byte
	var err error
	if terminal {
		data, err = json.MarshalIndent(v, "", "  ")
	} else {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return err
	}
	if terminal {
		data = []byte(escapeJSON(string(data)))
	}
	_, err = a.stdout.Write(append(data, '\n'))
	return err
}

// parser reads run's flags for a command with switches of its own.
func (a *app) parser(imageOptional bool, switches ...dockerargs.Switch) dockerargs.Parser {
	return dockerargs.Parser{LookupEnv: a.lookupEnv, ReadFile: readEnvironment, ImageOptional: imageOptional, Switches: switches}
}

// readEnvironment reads an --env-file, which a shell may have made a pipe (<(command)). A named one that nobody writes
// to is not waited for.
func readEnvironment(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readBounded(f, 4*sandbox.MaxEnvironment) // what is too much of it is said by the profile
	if info, serr := f.Stat(); err == nil && serr == nil && len(data) == 0 && info.Mode()&os.ModeNamedPipe != 0 {
		err = errors.New("nobody writes to this pipe")
	}
	return data, err
}

// logger writes errors, a waiver's use among them, unless TOOLCELL_LOG asks for more.
func (a *app) logger(level slog.Level) *slog.Logger {
	withoutTime := func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolcell COMMAND",
		Short: "One disposable sandbox for every tool call",
		Long: "toolcell runs a tool's program in a sandbox of its own, made for this one call and gone after it.\n\n" +
			"In the environment, TOOLCELL_CONFIG stands for --config, TOOLCELL_BACKEND for --backend, and TOOLCELL_LOG says how much\n" +
			"is logged on stderr: error (the default), warn, info or debug.",
		Example:       "  toolcell run host python3 -c 'print(2 + 2)'\n  toolcell doctor",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetUsageTemplate(usageTemplate)
	root.DisableFlagsInUseLine = true
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.runCmd(), a.codeCmd(), a.mcpCmd(), a.checkCmd(), a.doctorCmd(), a.profileCmd(), a.configCmd(), a.guaranteesCmd(), a.imagesCmd(), a.versionCmd(), a.infoCmd())
	completionHelp(root)
	return root
}

// completionHelp has cobra's own command refuse a shell that it does not know, where it would print its help for a script.
func completionHelp(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Use, c.DisableFlagsInUseLine = "completion SHELL", true
		c.Example = "  source <(toolcell completion bash)"
		c.Annotations = exitTable(plainExit)
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		c.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return misused(cmd, fmt.Errorf("%q is no shell that it knows", args[0]))
			}
			return nil
		}
	}
}
