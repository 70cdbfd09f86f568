package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// snippet is what the command line of code says.
type snippet struct {
	language, code  string
	file, out       string
	stdin, network  bool
	json, raw       bool
	timeout         seconds
	config, backend string
}

// seconds is a flag's duration, which without a unit is in seconds, as run's are.
type seconds time.Duration

// Set reads a value.
func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseInt(text, 10, 32); nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil {
		return errors.New("it is no duration like 30s or 2m")
	}
	*s = seconds(d)
	return nil
}

// String is the value with its unit.
func (s *seconds) String() string { return time.Duration(*s).String() }

// Type is what help calls the value.
func (*seconds) Type() string { return "duration" }

func (a *app) codeCmd() *cobra.Command {
	var s snippet
	cmd := &cobra.Command{
		Use:   "code [flags] LANG [CODE]",
		Short: "Run a snippet of Python, JavaScript or Bash, as the tool run_code does",
		Long: "code runs CODE, or with --file a file, in a disposable sandbox and prints what the tool run_code gives a model: how the\n" +
			"program ended, its two streams, the files that it left in its working directory. LANG is python, node or bash, or one\n" +
			"of their aliases: py, python3, js, javascript, sh, shell. CODE is handed over as a file and starts in an empty directory\n" +
			"of its own. Images and limits are the configuration's.",
		Example: "  toolcell code python 'print(2 + 2)'\n" +
			"  toolcell code --raw -i --file report.py python < data.csv\n" +
			"  toolcell code --out charts python 'open(\"a.svg\", \"w\").write(\"<svg/>\")'",
		Annotations: exitTable(runExit),
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return misused(cmd, errors.New("no language is named"))
			case len(args) > 2:
				return misused(cmd, fmt.Errorf("%q is too much: code is one argument", args[2]))
			case len(args) == 2 && s.file != "":
				return misused(cmd, errors.New("the code is either an argument or in --file"))
			case s.json && s.raw:
				return misused(cmd, errors.New("--json and --raw exclude each other"))
			case len(args) == 1 && s.file == "":
				if _, err := tools.ParseLanguage(args[0]); err != nil {
					return misused(cmd, fmt.Errorf("%q is no language, which comes first; a file is named by --file", args[0]))
				}
			}
			s.language, s.code = args[0], strings.Join(args[1:], "")
			if s.file == "" && strings.TrimSpace(s.code) == "" {
				return misused(cmd, errors.New("code is required: as an argument behind the language, or by --file"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.lazy = true
			return a.finish(cmd.Context(), a.runSnippet(cmd.Context(), s), s.json)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&s.file, "file", "f", "", "the file with the code; - is stdin")
	f.BoolVarP(&s.stdin, "interactive", "i", false, "give the program the command's stdin; otherwise it is empty")
	s.timeout = seconds(tools.DefaultCodeTimeout)
	f.Var(&s.timeout, "timeout", "the wall-clock limit, in seconds or like 2m; at most "+tools.MaxCodeTimeout.String())
	f.BoolVar(&s.network, "network", false, "ask for a network, which only the configuration grants")
	f.StringVar(&s.out, "out", "", "the directory for the files that the code leaves in its working directory; without it they are only named")
	f.BoolVar(&s.json, "json", false, "print the result as JSON")
	f.BoolVar(&s.raw, "raw", false, "pass the program's streams on as they come, as run does")
	f.Var((*fileName)(&s.config), "config", "the operator's file")
	f.StringVar(&s.backend, "backend", "", "the backend, in place of the configuration's")
	return cmd
}

// runSnippet runs the code and returns its exit code as an error, or the error that kept it from running.
func (a *app) runSnippet(ctx context.Context, s snippet) error {
	if err := s.read(a.stdin); err != nil {
		return err
	}
	out, err := s.openOut()
	if err != nil {
		return err
	}
	if out != nil {
		defer out.Close()
	}
	c, err := a.loadConfig(s.config, s.backend)
	if err != nil {
		return err
	}
	runner, err := backends.Open(ctx, c, a.options(c))
	if err != nil {
		return err
	}
	res, lost, err := a.runTool(ctx, runner.Tools(config.Agent{}), s)
	if cerr := runner.Close(); cerr != nil {
		fmt.Fprintln(a.stderr, "toolcell: "+escapeText(cerr.Error()))
	}
	if err != nil {
		return err
	}
	if err := keep(out, res.Artifacts); err != nil {
		return err
	}
	if err := a.showSnippet(s, res); err != nil {
		return err
	}
	if lost != nil {
		fmt.Fprintln(a.stderr, "toolcell: the program's output is not complete: "+escapeText(lost.Error()))
	}
	if code := resultCode(ctx, res.Result); code != 0 {
		return code
	}
	if lost != nil {
		return exitOwn
	}
	return nil
}

// read reads the code that is not on the command line.
func (s *snippet) read(stdin io.Reader) error {
	if s.file == "" {
		return nil
	}
	in, name := stdin, "stdin"
	if s.file != "-" {
		f, err := os.Open(s.file)
		if err != nil {
			return sandbox.Invalid("--file", "%w", err)
		}
		defer f.Close()
		in, name = f, s.file
	} else if s.stdin {
		return sandbox.Invalid("--file", "stdin is either the code or the program's input")
	}
	data, err := readBounded(in, tools.MaxCode)
	if err != nil {
		return sandbox.Invalid("--file "+name, "%w", err)
	}
	s.code = string(data)
	return nil
}

// runTool runs the code, its output going out as it comes when it is to go out raw. lost says why not all of it could be
// written.
func (a *app) runTool(ctx context.Context, t tools.Tools, s snippet) (r tools.CodeResult, lost, err error) {
	args := tools.CodeArgs{Language: s.language, Code: s.code, Timeout: time.Duration(s.timeout), Network: s.network}
	if s.stdin {
		args.Stdin = a.stdin
	}
	if !s.raw {
		r, err = t.RunCode(ctx, args)
		return r, nil, err
	}
	stdout, stderr := newOutlet(a.stdout), newOutlet(a.stderr)
	args.Stdout, args.Stderr = stdout, stderr
	r, err = t.RunCode(ctx, args)
	return r, cmp.Or(stdout.finish(), stderr.finish()), err
}

// openOut makes the directory for files, before the code runs. It is nil when none is wanted.
func (s *snippet) openOut() (*os.Root, error) {
	if s.out == "" {
		return nil, nil
	}
	err := os.MkdirAll(s.out, 0o777)
	if err != nil {
		return nil, sandbox.Invalid("--out", "%w", err)
	}
	root, err := os.OpenRoot(s.out)
	if err != nil {
		return nil, sandbox.Invalid("--out", "%w", err)
	}
	return root, nil
}

// keep writes files below a directory, and nowhere else, whatever links are there.
func keep(out *os.Root, files []tools.Artifact) error {
	if out == nil {
		return nil
	}
	for _, f := range files {
		err := out.MkdirAll(path.Dir(f.Name), 0o777)
		if err == nil {
			err = out.WriteFile(f.Name, f.Data, 0o666)
		}
		if err != nil {
			return sandbox.Invalid("--out", "%w", err)
		}
	}
	return nil
}

// showSnippet prints what the program did.
func (a *app) showSnippet(s snippet, r tools.CodeResult) error {
	switch {
	case s.json:
		return a.writeJSON(r.Result)
	case s.raw:
		a.hint(r)
		return nil
	}
	text := r.Text()
	if isTerminal(a.stdout) {
		text = escapeText(text)
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}

// hint says on stderr what the streams alone do not.
func (a *app) hint(r tools.CodeResult) {
	for _, h := range r.Result.Hints {
		fmt.Fprintln(a.stderr, "toolcell: "+escapeText(h))
	}
	for name, cut := range map[string]bool{"stdout": r.Result.StdoutTruncated, "stderr": r.Result.StderrTruncated} {
		if cut {
			fmt.Fprintf(a.stderr, "toolcell: %s is cut\n", name)
		}
	}
	for _, o := range r.Omitted {
		fmt.Fprintln(a.stderr, "toolcell: a file is not returned: "+escapeText(o))
	}
}
