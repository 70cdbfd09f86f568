package tools

import (
	"cmp"
	"context"
	_ "embed" // bootstrap
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/soulacy/toolcell/sandbox"
)

// MaxToolTimeout is the longest time that an agent's or a plugin's own tool can ask for.
const MaxToolTimeout = 24 * time.Hour

// ToolTarget is where an agent's or a plugin's own tool finds its directory, read-only.
const ToolTarget = "/tool"

// bootstrap is what calls a tool's function.
//
//go:embed bootstrap.py
var bootstrap string

// PythonRules are the operator's and the agent's words about the agent's and plugins' own tools. The zero value restricts
// no file and hands on no variable.
type PythonRules struct {
	// AllowedDirs are the directories of the host that the file of a PythonFile has to lie below, links followed. Empty
	// means anywhere.
	AllowedDirs []string
	// Env names the variables of this process that the tools get. One that is not set, or that no variable can be called,
	// is left out; so are PATH, HOME and TMPDIR in a sandbox, which has its own.
	Env []string
	// LookupEnv finds a variable's value. nil means [os.LookupEnv].
	LookupEnv func(name string) (value string, ok bool)
}

// PythonCall is what the calls of an agent's and a plugin's own tools have in common.
type PythonCall struct {
	// Name is the tool's name, for messages.
	Name string
	// Arguments are a JSON object. nil is an empty one.
	Arguments json.RawMessage
	// Timeout is the tool's own limit. 0 and less mean the place's, more than 24 hours means 24 hours.
	Timeout time.Duration
	// Isolation is "" or IsolationSandbox.
	Isolation string
	// Progress receives each progress line as it comes; see [Progress]. nil drops them.
	Progress func(Progress)
	// Log receives each line of the standard error stream as it comes, without its end. One longer than 64 KiB comes in
	// parts. It may be called at the same time as Progress, and is not called after the tool's end unless the call was
	// killed while it had not returned. nil drops them.
	Log func(line string)
}

// FileArgs are a call of a tool that is a function in a file.
type FileArgs struct {
	PythonCall
	// File is the file: absolute, below the home directory as "~/", or relative to Base.
	File string
	// Base is the absolute path of the directory that a relative File belongs to: that of the agent's manifest.
	Base string
	// Function is the function. "" means the tool's name.
	Function string
}

// InlineArgs are a call of a tool whose source is in the agent's manifest or in a flow.
type InlineArgs struct {
	PythonCall
	// Code is the source, of any size up to [MaxCode].
	Code string
	// Function is a function of it, which gets the arguments as one dictionary. "" means that Code is a whole program, which
	// reads the arguments from its standard input and whose standard output is the result.
	Function string
}

// PluginArgs are a call of a plugin's tool.
type PluginArgs struct {
	PythonCall
	// Dir is the absolute path of the plugin's directory.
	Dir string
	// Handler is "python:FILE::FUNCTION". The file is relative to Dir, or an absolute path below it.
	Handler string
}

// PythonFile calls a function of a file, with the arguments by their names. The file's directory is at ToolTarget,
// read-only; modules and data beside the file are found there.
//
// The result is what the function returns: a string as it is, anything else as JSON. What it prints is log.
func (t Tools) PythonFile(ctx context.Context, a FileArgs) (PythonResult, error) {
	r := pythonRun{kind: NamePythonFile, call: a.PythonCall, function: cmp.Or(a.Function, a.Name)}
	return t.runPython(ctx, r, func() (source, error) { return t.findFile(a) })
}

// Inline runs source that is no file.
func (t Tools) Inline(ctx context.Context, a InlineArgs) (PythonResult, error) {
	r := pythonRun{kind: NameInline, call: a.PythonCall, function: a.Function, program: a.Function == ""}
	return t.runPython(ctx, r, func() (source, error) { return source{code: a.Code}, checkCode(a.Code) })
}

// Plugin calls a function of a file of a plugin, as [Tools.PythonFile] does. The plugin's directory is at ToolTarget, and no
// file outside of it is called.
func (t Tools) Plugin(ctx context.Context, a PluginArgs) (PythonResult, error) {
	r := pythonRun{kind: NamePlugin, call: a.PythonCall}
	file, function, err := parseHandler(a.Handler)
	if err != nil {
		return PythonResult{}, r.failed(err)
	}
	r.function = function
	return t.runPython(ctx, r, func() (source, error) { return findPlugin(a.Dir, file) })
}

// pythonRun is one call of a tool.
type pythonRun struct {
	kind     Name
	call     PythonCall
	function string
	// program says that there is no function to call.
	program bool
}

// source is what is run: a file in a directory of the host, or code.
type source struct {
	dir, file string
	code      string
}

// failed names the tool in an error and leaves it what it is.
func (r pythonRun) failed(err error) error {
	word := "tool "
	if r.kind == NamePlugin {
		word = "plugin tool "
	}
	return &toolError{what: word + quoted(r.call.Name), cause: err}
}

type toolError struct {
	what  string
	cause error
}

func (e *toolError) Error() string { return e.what + ": " + e.cause.Error() }
func (e *toolError) Unwrap() error { return e.cause }

// identifier reports whether s can be the name of a function. It is no regular expression, since each start of the command
// would pay for its tables.
func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsNumber(r)) {
			return false
		}
	}
	return s != ""
}

// check refuses what no place could run.
func (r pythonRun) check() error {
	if !r.program && !identifier(r.function) {
		return sandbox.Invalid("function", "%s is no name of a function", quoted(r.function))
	}
	return checkObject(r.call.Arguments)
}

func (t Tools) runPython(ctx context.Context, r pythonRun, find func() (source, error)) (PythonResult, error) {
	if err := r.check(); err != nil {
		return PythonResult{}, r.failed(err)
	}
	p, err := t.enter(ctx, Request{Tool: r.kind, Isolation: r.call.Isolation})
	if err != nil {
		return PythonResult{}, r.failed(err)
	}
	s, err := find()
	if err != nil {
		return PythonResult{}, r.failed(err)
	}
	p.Profile.Limits.Wall = p.cap(r.call.Timeout, cmp.Or(p.Profile.Limits.Wall, sandbox.DefaultWall), MaxToolTimeout)
	result, err := t.runSource(ctx, p, r, s)
	if err != nil {
		return PythonResult{}, r.failed(err)
	}
	return result, nil
}

// runSource runs what was found, under the place's profile.
func (t Tools) runSource(ctx context.Context, p Place, r pythonRun, s source) (result PythonResult, err error) {
	python, taps := p.python(), r.taps()
	c := sandbox.Command{
		Env: t.pythonEnv(p), Timeout: p.Profile.Limits.Wall,
		Stdin: strings.NewReader(cmp.Or(strings.TrimSpace(string(r.call.Arguments)), "{}")), Stdout: taps.stdout, Stderr: taps.stderr,
	}
	start := func(s source) []string { return append([]string{python}, r.argv(p, s)...) }
	end, err := t.show(&p, &c, s, start)
	if err != nil {
		return PythonResult{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	res, err := p.run(ctx, c)
	taps.flush()
	if err != nil {
		return PythonResult{}, missingProgram(python, err)
	}
	tidyStreams(&res)
	return r.result(p, res), nil
}

// show puts a source where the program finds it, and only this call's program what is no file; start says how the program
// is started then. It returns what takes it away again.
func (t Tools) show(p *Place, c *sandbox.Command, s source, start func(source) []string) (func() error, error) {
	if s.dir == "" {
		return t.showCode(p, c, s, start)
	}
	if !p.OnHost {
		p.Profile.Binds, s.dir = append(slices.Clone(p.Profile.Binds), s.mounts()...), ToolTarget
	}
	c.Argv = start(s)
	alike := t.sortOf(*p, *c, sandbox.InterpreterPython, "", false)
	return func() error {
		t.Ahead.used(alike)
		return nil
	}, nil
}

// showCode is show for what is no file.
func (t Tools) showCode(p *Place, c *sandbox.Command, s source, start func(source) []string) (func() error, error) {
	const file = "main.py"
	c.Argv = start(source{dir: codeTarget, file: file})
	st, err := t.stage(NameInline, *p, t.sortOf(*p, *c, sandbox.InterpreterPython, file, false), file, s.code)
	if err != nil {
		return nil, err
	}
	if p.OnHost {
		c.Argv = start(source{dir: st.codeDir(), file: file})
	} else {
		p.Profile.Binds = append(slices.Clone(p.Profile.Binds), st.mounts(false, false)...)
	}
	return st.end, nil
}

// python is the interpreter: on the host the operator's; in a sandbox the image's, in place of which the operator's own
// can only stand where the image is this machine.
func (p Place) python() string {
	switch {
	case p.OnHost:
		return cmp.Or(p.Python, "python3")
	case len(p.Profile.Interpreters) > 0 && (p.Profile.Image == "" || p.Profile.Image == sandbox.ImageHost):
		return p.Profile.Interpreters[0]
	default:
		return "python3"
	}
}

// argv is what the interpreter is told. The tool's own source is never in it.
func (r pythonRun) argv(p Place, s source) []string {
	file := p.join(s.dir, s.file)
	if r.program {
		return []string{file}
	}
	places := slices.Compact([]string{p.dirOf(file), s.dir})
	return append([]string{"-c", bootstrap, string(r.kind), file, r.function}, places...)
}
