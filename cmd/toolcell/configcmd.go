package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/sandbox/config"
)

// configFile is the file that the command line names, in one of two ways.
type configFile struct{ flag, backend string }

// flags adds those of both commands.
func (f *configFile) flags(cmd *cobra.Command) {
	cmd.Flags().Var((*fileName)(&f.flag), "config", "the operator's file, as FILE")
	cmd.Flags().StringVar(&f.backend, "backend", "", "the backend, in place of runtime.sandbox.binary")
}

// args takes the file as an argument, unless the flag names it.
func (f *configFile) args(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return misused(cmd, fmt.Errorf("%q is too much: it takes one file", args[1]))
	case len(args) == 1 && f.flag != "":
		return misused(cmd, errors.New("the file is either an argument or in --config"))
	case len(args) == 1 && args[0] == "":
		return misused(cmd, errNoName)
	case len(args) == 1:
		f.flag = args[0]
	}
	return nil
}

const configExit = `  0    the configuration is valid
  1    it is not: toolcell says what and where on stderr, one line a problem
  125  the command line was not taken: toolcell says why on stderr`

func (a *app) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config COMMAND",
		Short: "Check the configuration, or show what it comes to",
		Long: "The configuration is one file: the one that --config or TOOLCELL_CONFIG names, else the first that exists of\n" +
			"toolcell/config.yaml below XDG_CONFIG_HOME or ~/.config, and /etc/toolcell/config.yaml.",
		Example:               "  toolcell config check /etc/soulacy/config.yaml\n  toolcell config show",
		Annotations:           exitTable(configExit),
		DisableFlagsInUseLine: true,
		Args:                  noArgs,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.configCheckCmd(), a.configShowCmd())
	return cmd
}

func (a *app) configCheckCmd() *cobra.Command {
	var asJSON bool
	var f configFile
	cmd := &cobra.Command{
		Use:   "check [flags] [FILE]",
		Short: "Say everything that is wrong with a configuration, with file, line and column",
		Long: "check reads FILE, or the configuration that the other commands would find, and prints every problem at once: keys and\n" +
			"values that are not known, with the accepted ones, and keys that the chosen backend cannot honour. Of the file only\n" +
			"runtime.sandbox, executor and four keys of runtime are read; one that sets none of them is said to.",
		Example:     "  toolcell config check /etc/soulacy/config.yaml",
		Annotations: exitTable(configExit),
		Args:        f.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.loadConfig(f.flag, f.backend)
			if err != nil {
				return a.finish(cmd.Context(), a.tellProblems(err, asJSON), asJSON)
			}
			return a.finish(cmd.Context(), a.tellValid(c, asJSON), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the problems as JSON")
	f.flags(cmd)
	return cmd
}

func (a *app) configShowCmd() *cobra.Command {
	var asJSON bool
	var f configFile
	cmd := &cobra.Command{
		Use:         "show [flags] [FILE]",
		Short:       "Show every effective value, and where it comes from",
		Long:        "show prints the configuration with every default filled in, as YAML that can be read back. A comment says where each\nvalue comes from: the default, a line of the file, the environment, or a flag.",
		Example:     "  toolcell config show /etc/soulacy/config.yaml\n  toolcell config show | grep -v '# default$'",
		Annotations: exitTable(configExit),
		Args:        f.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.loadConfig(f.flag, f.backend)
			if err != nil {
				return a.finish(cmd.Context(), a.tellProblems(err, asJSON), asJSON)
			}
			return a.finish(cmd.Context(), a.showConfig(c, asJSON), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print file and values as JSON")
	f.flags(cmd)
	return cmd
}

// verdict is what check says as JSON. Set names the keys that the file sets.
type verdict struct {
	File     string            `json:"file"`
	Valid    bool              `json:"valid"`
	Set      []string          `json:"set"`
	Problems []*config.Problem `json:"problems"`
	Warnings []*config.Problem `json:"warnings"`
}

// tellProblems prints what is wrong and returns the exit code for it.
func (a *app) tellProblems(err error, asJSON bool) error {
	problems := config.Problems(err)
	if asJSON {
		if err := a.writeJSON(verdict{File: problems[0].File, Set: []string{}, Problems: problems, Warnings: []*config.Problem{}}); err != nil {
			return err
		}
		return exitCode(1)
	}
	a.listProblems(problems)
	return exitCode(1)
}

// listProblems writes one line for each.
func (a *app) listProblems(problems []*config.Problem) {
	for _, p := range problems {
		fmt.Fprintln(a.stderr, "toolcell: "+escapeText(p.Error()))
	}
}

// keysSet are the keys that the file itself sets.
func keysSet(c *config.Config) []string {
	set := []string{}
	for _, v := range c.Values() {
		if v.Origin.File != "" {
			set = append(set, v.Key)
		}
	}
	return set
}

func (a *app) tellValid(c *config.Config, asJSON bool) error {
	set := keysSet(c)
	if asJSON {
		return a.writeJSON(verdict{
			File: c.File, Valid: true, Set: set, Problems: []*config.Problem{}, Warnings: append([]*config.Problem{}, c.Warnings...),
		})
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(a.stderr, "toolcell: warning: "+escapeText(w.Error()))
	}
	name := c.File
	switch {
	case name == "":
		name = "no file: the defaults"
	case len(set) == 0:
		name += ": it sets nothing that is read here (runtime.sandbox, executor): the defaults"
	}
	_, err := fmt.Fprintln(a.stdout, "ok: "+escapeText(name))
	return err
}

func (a *app) showConfig(c *config.Config, asJSON bool) error {
	if asJSON {
		return a.writeJSON(struct {
			File   string         `json:"file"`
			Values []config.Value `json:"values"`
		}{c.File, c.Values()})
	}
	var b strings.Builder
	err := c.Show(&b)
	text := b.String()
	if isTerminal(a.stdout) {
		text = escapeText(text)
	}
	_, werr := io.WriteString(a.stdout, text)
	return errors.Join(err, werr)
}
