package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// usageTemplate is cobra's, shorter, with the flags that docker's parser reads and a table of exit codes.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{with index .Annotations "flags"}}

{{.}}{{else}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{end}}{{with index .Annotations "exit"}}

EXIT STATUS:
{{.}}{{end}}
`

// runExit is the table of run's exit codes, as in the README.
const runExit = `  N         the program's own exit code
  128+n     signal n ended the program
  124       the wall-clock or CPU time limit was reached
  137       the memory limit was reached
  153       a file grew beyond its limit
  130, 143  interrupted, terminated
  125       the sandbox did not run the program: toolcell says why on stderr
  126       the program cannot be executed
  127       the program was not found`

const checkExit = `  0    every required guarantee holds
  1    a call would be refused; with --strict, also when a second lock is missing
  125  the command line was not taken: toolcell says why on stderr`

const plainExit = `  0    success
  125  toolcell says why on stderr`

const probeExit = `  0    the backend can enforce the hardened profile here
  125  it cannot; ` + "`toolcell doctor`" + ` explains`

// exitTable carries the table of exit codes to the usage template.
func exitTable(text string) map[string]string { return map[string]string{"exit": text} }

// noArgs refuses an argument where none belongs.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasParent():
		return misused(cmd, fmt.Errorf("%q is too much: it takes flags alone", args[0]))
	default:
		return misused(cmd, fmt.Errorf("%q is no command", args[0]))
	}
}

// flagError is what cobra found wrong with a flag, with the way to the help.
func flagError(cmd *cobra.Command, err error) error { return misused(cmd, err) }

func misused(cmd *cobra.Command, cause error) error {
	e := &sandbox.Error{Kind: sandbox.KindInvalid, Cause: cause, Fix: "see `" + cmd.CommandPath() + " --help`"}
	if cmd.HasParent() {
		e.Op = cmd.Name()
	}
	return e
}

// dockerFlags makes p, not cobra, the one who reads cmd's flags, explains them (only when asked, since every call pays
// for its start) and completes them.
func dockerFlags(cmd *cobra.Command, p dockerargs.Parser) *cobra.Command {
	cmd.DisableFlagParsing = true
	cmd.DisableFlagsInUseLine = true // Use names them
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Annotations["flags"] = flagHelp(p.Flags())
		help(c, args)
	})
	cmd.ValidArgsFunction = func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return completions(p.Flags(), typed), cobra.ShellCompDirectiveDefault
	}
	return cmd
}

// flagHelp renders the flag table, docker's flags and toolcell's own apart.
func flagHelp(flags []dockerargs.Flag) string {
	docker := "Flags, as docker run has them:\n"
	own := "Flags of toolcell:\n"
	for _, f := range flags {
		line := flagLine(f)
		if f.Own {
			own += line
			continue
		}
		docker += line
	}
	return docker + "\n" + strings.TrimSuffix(own, "\n")
}

func flagLine(f dockerargs.Flag) string {
	short := "    "
	if f.Short != "" {
		short = "-" + f.Short + ", "
	}
	return fmt.Sprintf("  %s--%-32s %s\n", short, strings.TrimSpace(f.Name+" "+f.Arg), f.Usage)
}

// completions returns the long flags that begin with what was typed.
func completions(flags []dockerargs.Flag, typed string) []string {
	var out []string
	for _, f := range flags {
		if strings.HasPrefix("--"+f.Name, typed) {
			out = append(out, "--"+f.Name+"\t"+f.Usage)
		}
	}
	return out
}
