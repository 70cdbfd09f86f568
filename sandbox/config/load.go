package config

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/soulacy/toolcell/sandbox"
)

// The environment variables that are read.
const (
	// FileVariable names the file.
	FileVariable = "TOOLCELL_CONFIG"
	// BackendVariable stands for runtime.sandbox.binary.
	BackendVariable = "TOOLCELL_BACKEND"
	// LogVariable is the log level: debug, info, warn or error.
	LogVariable = "TOOLCELL_LOG"
)

// BackendFlag is the name that [Options].Backend goes by in messages.
const BackendFlag = "--backend"

// Options says where a configuration comes from. The zero value reads no environment.
type Options struct {
	// File is the file to read; it has to exist. "" means the search path.
	File string
	// Backend stands for runtime.sandbox.binary, before the environment. "" means that nothing was asked for.
	Backend string
	// LookupEnv reads the environment, as os.LookupEnv. nil means that there is none.
	LookupEnv func(string) (string, bool)
	// GOOS is the operating system to choose defaults for. "" means this one.
	GOOS string
}

func (o Options) env(name string) string {
	if o.LookupEnv == nil {
		return ""
	}
	s, ok := o.LookupEnv(name)
	if !ok {
		return ""
	}
	return s
}

func (o Options) goos() string {
	if o.GOOS == "" {
		return runtime.GOOS
	}
	return o.GOOS
}

func (o Options) home() string {
	if o.goos() == "windows" {
		return o.env("USERPROFILE")
	}
	return o.env("HOME")
}

// SearchPath returns the files of which the first that exists is read when none is named.
func (o Options) SearchPath() []string {
	user, machine := o.env("XDG_CONFIG_HOME"), "/etc"
	if o.goos() == "windows" {
		user, machine = o.env("AppData"), o.env("ProgramData")
	} else if home := o.home(); !filepath.IsAbs(user) && filepath.IsAbs(home) {
		user = filepath.Join(home, ".config")
	}
	var out []string
	for _, dir := range []string{user, machine} {
		if filepath.IsAbs(dir) {
			out = append(out, filepath.Join(dir, "toolcell", "config.yaml"))
		}
	}
	return out
}

// Load finds, reads and checks the configuration. Without a file it is the default one. The error, if any, is made of
// [Problem]s; see [Problems].
func Load(o Options) (*Config, error) {
	name := o.File
	if name == "" {
		name = o.env(FileVariable)
	}
	if name != "" {
		return loadFile(name, o)
	}
	for _, name := range o.SearchPath() {
		c, err := loadFile(name, o)
		if !missing(err) {
			return c, err
		}
	}
	return Parse("", nil, o)
}

// missing reports whether a file does not exist, or lies in what is no directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func loadFile(name string, o Options) (*Config, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, &Problem{File: name, Cause: err.Error(), err: err}
	}
	data, err := readFile(abs, true)
	if err != nil {
		return nil, fileProblem(abs, err)
	}
	return Parse(abs, data, o)
}

// fileProblem is a problem with the file as a whole, whose name it says once.
func fileProblem(name string, err error) *Problem {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	p := &Problem{File: name, Cause: err.Error(), err: err}
	var known *fileError
	if errors.As(err, &known) {
		p.Fix = known.fix
	}
	return p
}

// Parse checks a configuration that was read from the file of that name. It looks at no file.
func Parse(name string, data []byte, o Options) (*Config, error) {
	c := defaults(o.goos())
	c.File = name
	d := newDecoder(name)
	c.origins = d.origins
	if root, ok := d.parseTree(data); ok {
		c.schema(o.home()).decode(d, "", root)
	}
	c.Warnings = d.warnings
	c.readEnvironment(d, o)
	c.settle(d)
	if len(d.problems) == 0 {
		c.check(d)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// defaults is the configuration before anything is read. What depends on the backend is settled later.
func defaults(goos string) *Config {
	p := sandbox.ContainerProfile{}.WithDefaults()
	return &Config{
		GOOS:     goos,
		LogLevel: slog.LevelError,
		Sandbox: Sandbox{
			Limits: p.Limits, PIDs: p.PIDs, TmpMB: p.TmpfsMB, ShmMB: p.ShmMB, Armed: true, PythonTools: ToolsContainer,
		},
		Executor: Executor{Network: p.Network, User: p.User},
	}
}

// readEnvironment applies what the command line and the environment may choose.
func (c *Config) readEnvironment(d *decoder, o Options) {
	if fold(o.Backend) != "" {
		c.readBackend(d, o.Backend, Origin{Flag: BackendFlag})
	} else if s := o.env(BackendVariable); fold(s) != "" {
		c.readBackend(d, s, Origin{Variable: BackendVariable})
	}
	if s := o.env(LogVariable); s != "" {
		c.readLogLevel(d, s)
	}
	for _, name := range ignoredVariables() {
		if o.env(name) != "" {
			c.Warnings = append(c.Warnings, &Problem{File: name, Cause: "the environment cannot choose this, and nothing is changed", Fix: "write it in the file"})
		}
	}
}

func (c *Config) readBackend(d *decoder, s string, from Origin) {
	backend, err := ParseBackend(s)
	if err != nil {
		d.add(&Problem{File: from.String(), Cause: quote(s) + " is no backend", Accepted: acceptedBinary()})
		return
	}
	c.Sandbox.Binary, d.origins[sandboxPath+".binary"] = backend, from
}

func (c *Config) readLogLevel(d *decoder, s string) {
	switch fold(s) {
	case "debug":
		c.LogLevel = slog.LevelDebug
	case "info":
		c.LogLevel = slog.LevelInfo
	case "warn":
		c.LogLevel = slog.LevelWarn
	case "error":
	default:
		d.add(&Problem{File: LogVariable, Cause: quote(s) + " is no level", Accepted: "debug, info, warn or error"})
	}
}

// ignoredVariables look as if they chose what only the file may. The gateway's own have such names, too.
func ignoredVariables() []string {
	var out []string
	for _, k := range []string{"ENABLED", "MODE", "WAIVE", "PYTHON_TOOLS"} {
		out = append(out, "TOOLCELL_"+k, "SOULACY_RUNTIME_SANDBOX_"+k)
	}
	return append(out, "SOULACY_EXECUTOR_BACKEND")
}

// settle fills in what depends on other values.
func (c *Config) settle(d *decoder) {
	s := &c.Sandbox
	c.settleMode(d)
	s.Binary = c.Backend()
	if c.Executor.Backend == "" {
		c.Executor.Backend = ExecutionSandbox
		if s.PythonTools == ToolsLimits {
			c.Executor.Backend = ExecutionLocal
		}
	}
	if _, written := d.origins[sandboxPath+".armed"]; !written && IsEngine(s.Binary) {
		s.Armed = false
	}
	fill(&s.Image, s.Binary, pythonImage)
	fill(&s.RunCode.Python, s.Binary, pythonImage)
	fill(&s.RunCode.Node, s.Binary, nodeImage)
	fill(&s.RunCode.Bash, s.Binary, bashImage)
	fill(&c.Executor.Image, c.ToolBackend(), pythonImage)
}

// The images that engines are asked for where nothing else is written.
const (
	pythonImage = "python:3.12-slim"
	nodeImage   = "node:22-alpine"
	bashImage   = "bash:5"
)

// fill writes an image's default.
func fill(image *string, backend, engine string) {
	if *image == "" {
		*image = defaultImage(backend, engine)
	}
}

// defaultImage is the host's own programs for native and a name for engines. What auto will choose is not known yet, and
// a backend of another name has its own.
func defaultImage(backend, engine string) string {
	switch {
	case backend == Native:
		return sandbox.ImageHost
	case IsEngine(backend):
		return engine
	default:
		return ""
	}
}

// settleMode makes one answer of the new and the old way to say where builtins run.
func (c *Config) settleMode(d *decoder) {
	s := &c.Sandbox
	enabled, mode := d.origins[sandboxPath+".enabled"], sandboxPath+".mode"
	if s.disabled && s.Mode == ModeSandbox {
		d.contradiction(mode, "sandbox contradicts enabled: false on line "+itoa(enabled.Line), "remove one of them")
		return
	}
	switch {
	case s.disabled && s.Mode != ModeUnsandboxed:
		s.Mode, d.origins[mode] = ModeUnsandboxed, enabled
	case s.Mode != ModeUnsandboxed:
		s.Mode = ModeSandbox
	}
}
