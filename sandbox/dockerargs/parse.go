package dockerargs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// ErrHelp is returned when --help stands among the flags, or -h at their end.
var ErrHelp = errors.New("help requested")

// Invocation is a command line that was understood.
type Invocation struct {
	// Profile is what the flags ask for. Its Image is the command line's.
	Profile sandbox.ContainerProfile
	// Command is the program inside and its arguments.
	Command []string
	// Name is the call's ID, or "".
	Name string
	// Labels holds the --label values. They change nothing of the confinement.
	Labels []string
	// Stdin is whether the caller's standard input goes to the program (-i). Without it the program's is empty.
	Stdin bool
	// Applied names the hardening that the command line left out and that holds all the same.
	Applied []string
	// Backend is the backend asked for, or "".
	Backend string
	// Config is the operator's configuration file asked for, or "".
	Config string
	// Flags are the long names of the flags that were given, sorted.
	Flags []string
	// JSON asks for the Result as JSON. It is also set when there is an error, which is JSON then, too.
	JSON bool
}

// Switch is a flag that a command adds to the table: one without a value, or with one when Text is set.
type Switch struct {
	// Name is the long name without dashes.
	Name string
	// Usage is the line of the help text.
	Usage string
	// Value is set to true when the flag is given.
	Value *bool
	// Text, when not nil, is set to the flag's value, in place of Value. Arg names that value in the help text.
	Text *string
	Arg  string
}

// Parser reads command lines. The zero value reads no environment variable and no file: -e NAME then names nothing and
// --env-file is an error.
type Parser struct {
	// LookupEnv answers -e NAME, and nothing else.
	LookupEnv func(string) (string, bool)
	// ReadFile answers --env-file, and nothing else.
	ReadFile func(string) ([]byte, error)
	// ImageOptional accepts a line that ends before IMAGE or before COMMAND.
	ImageOptional bool
	// Switches are the command's own flags.
	Switches []Switch
}

// Parse reads what follows `docker run`, with the process's own environment and files for -e NAME and --env-file.
func Parse(args []string) (Invocation, error) {
	return Parser{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}.Parse(args)
}

// Parse reads what follows `docker run`. The error is an [*sandbox.Error] of kind invalid or refused, or [ErrHelp].
func (p Parser) Parse(args []string) (Invocation, error) {
	s := &state{parser: p, table: p.flags(), seen: map[string]bool{}}
	rest, err := s.flags(args)
	if err == nil {
		err = s.operands(rest)
	}
	if err == nil {
		err = s.finish()
	}
	return s.inv, err
}

// state is one command line being read.
type state struct {
	parser  Parser
	table   []flag
	seen    map[string]bool
	inv     Invocation
	fileEnv []string
	env     []string
	swapMB  int
}

// flags reads up to the first operand and returns the operands.
func (s *state) flags(args []string) ([]string, error) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return args[1:], nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			return args, nil
		}
		var err error
		from := args
		if strings.HasPrefix(arg, "--") {
			args, err = s.long(arg[2:], args[1:])
		} else {
			args, err = s.short(arg[1:], args[1:])
		}
		if err != nil {
			s.inv.JSON = s.inv.JSON || s.asksJSON(from)
			return nil, err
		}
	}
	return nil, nil
}

// asksJSON reports whether --json is among the flags from one that was not taken to the first operand. What follows a flag that
// is not known may be its value.
func (s *state) asksJSON(args []string) bool {
	for ; len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--"; args = args[1:] {
		name, _, inline := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		if args[0] == "--json" || args[0] == "--json=true" {
			return true
		}
		f, known := s.find(func(f flag) bool { return f.Name == name || "-"+f.Short == args[0] })
		if inline || len(args) == 1 {
			continue
		}
		if known && f.Arg != "" || !known && !strings.HasPrefix(args[1], "-") {
			args = args[1:]
		}
	}
	return false
}

// long reads --name, --name=value or --name value and returns what follows.
func (s *state) long(arg string, rest []string) ([]string, error) {
	name, value, inline := strings.Cut(arg, "=")
	if name == "help" {
		return nil, ErrHelp
	}
	f, ok := s.find(func(f flag) bool { return f.Name == name })
	if !ok {
		return nil, refusedFlag("--" + name)
	}
	return s.apply(f, "--"+name, operand{value, inline}, rest)
}

// short reads a cluster of one-letter flags, the last of which may have a value.
func (s *state) short(cluster string, rest []string) ([]string, error) {
	for cluster != "" {
		letter := cluster[:1]
		if letter == "h" && cluster == "h" && len(rest) == 0 {
			return nil, ErrHelp // docker's -h is --hostname; alone it can only be a question
		}
		cluster = cluster[1:]
		f, ok := s.find(func(f flag) bool { return f.Short == letter })
		if !ok {
			return nil, refusedFlag("-" + letter)
		}
		var value operand
		if f.Arg != "" && cluster != "" || strings.HasPrefix(cluster, "=") {
			value = operand{strings.TrimPrefix(cluster, "="), true}
			cluster = ""
		}
		var err error
		if rest, err = s.apply(f, "-"+letter, value, rest); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// operand is a value that stood in the same word as its flag, or not.
type operand struct {
	value  string
	inline bool
}

// apply takes a flag's value, from the same word or from the next one, whatever that begins with, and sets it.
func (s *state) apply(f flag, spelled string, v operand, rest []string) ([]string, error) {
	switch {
	case f.Arg != "" && !v.inline:
		if len(rest) == 0 {
			return nil, invalid(spelled, "it needs a value: "+f.Arg, "")
		}
		v.value, rest = rest[0], rest[1:]
	case f.Arg == "" && !v.inline:
		v.value = "true"
	}
	s.seen[f.Name] = true
	return rest, f.set(s, spelled, v.value)
}

func (s *state) find(match func(flag) bool) (flag, bool) {
	for _, f := range s.table {
		if match(f) {
			return f, true
		}
	}
	return flag{}, false
}

// operands reads IMAGE and COMMAND.
func (s *state) operands(rest []string) error {
	if len(rest) == 0 || rest[0] == "" {
		if s.parser.ImageOptional && len(rest) == 0 {
			return nil
		}
		return invalid("image", "none given", "name one after the flags: run [flags] IMAGE COMMAND...")
	}
	image := rest[0]
	if strings.HasPrefix(image, "-") || strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return invalid("image", fmt.Sprintf("%q is no image name", image), "")
	}
	s.inv.Profile.Image = image
	s.inv.Command = rest[1:]
	if len(s.inv.Command) == 0 && !s.parser.ImageOptional {
		return invalid("command", "none given after the image", "name the program to run: run [flags] IMAGE COMMAND...")
	}
	return nil
}

// finish checks what only the whole line can tell.
func (s *state) finish() error {
	p := &s.inv.Profile
	if s.seen["memory-swap"] {
		if !s.seen["memory"] {
			return invalid("--memory-swap", "it means nothing without --memory", "give both, with the same value")
		}
		if s.swapMB != p.Limits.MemoryMB {
			return refused("--memory-swap", sandbox.LimitMemory, "it differs from --memory, which would allow swap",
				"give both the same value")
		}
	}
	p.Env = lastOfEach(append(s.fileEnv, s.env...))
	s.inv.Applied = s.applied()
	s.inv.Flags = slices.Sorted(maps.Keys(s.seen))
	return p.Validate()
}

// applied lists the hardening flags that were not given, as they would have been written.
func (s *state) applied() []string {
	var out []string
	for _, h := range []struct{ name, flag string }{
		{"network", "--network none"},
		{"read-only", "--read-only"},
		{"user", "--user auto"},
		{"cap-drop", "--cap-drop ALL"},
		{"security-opt", "--security-opt no-new-privileges"},
		{"pids-limit", fmt.Sprintf("--pids-limit %d", sandbox.DefaultPIDs)},
		{"memory", fmt.Sprintf("--memory %dm", sandbox.DefaultMemoryMB)},
		{"cpus", fmt.Sprintf("--cpus %g", sandbox.DefaultCPUs)},
	} {
		if !s.seen[h.name] {
			out = append(out, h.flag)
		}
	}
	return out
}

// lastOfEach keeps the last entry of each name, in the order in which the names came. An engine does the same;
// without it getenv(3) would find the first.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	var out []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if i, ok := at[name]; ok {
			out[i] = e
			continue
		}
		at[name] = len(out)
		out = append(out, e)
	}
	return out
}
