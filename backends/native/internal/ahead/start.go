package ahead

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/soulacy/toolcell/sandbox"
)

// Dir is where an interpreter finds its hook, inside.
const Dir = "/etc/toolcell"

// Failed is the exit status of a hook that could not take its call.
const Failed = 125

// The signs of a hook.
const (
	// Waits says that the interpreter has started and waits for its call.
	Waits = 'R'
	// Goes says that the call is applied, and that its program is what comes next.
	Goes = 'G'
)

//go:embed sitecustomize.py
var pythonHook []byte

//go:embed hook.js
var nodeHook []byte

// The variables by which a hook is told what to do. The call's environment takes their place.
const (
	variableFD      = "TOOLCELL_AHEAD"
	variablePreload = "TOOLCELL_PRELOAD"
	variablePin     = "TOOLCELL_PIN"
)

// Start is how an interpreter is started ahead.
type Start struct {
	// Interpreter is its kind.
	Interpreter sandbox.Interpreter
	// Argv is what is started: the interpreter, its program, the program's arguments.
	Argv []string
	// Fixed holds the KEY=VALUE entries that the interpreter reads while it starts; see [Fixed].
	Fixed []string
	// Preload and Pin are as in [sandbox.Arming].
	Preload []string
	Pin     bool
	// Compiled is the hook as this interpreter compiled it; nil has it compiled each time. What starts is the same.
	Compiled *Compiled
}

// pythonFile is Python's hook, inside.
const pythonFile = Dir + "/sitecustomize.py"

// Check refuses what cannot be started ahead.
func (s Start) Check() error {
	inline := ""
	switch s.Interpreter {
	case sandbox.InterpreterPython:
		inline = "-c"
	case sandbox.InterpreterNode:
		if len(s.Preload) > 0 || s.Pin {
			return sandbox.Invalid("arm", "node has nothing to preload or pin")
		}
	default:
		return sandbox.Invalid("arm", "%q is no interpreter that can be started ahead; use python or node", s.Interpreter)
	}
	for _, name := range s.Preload {
		if !sandbox.IsModuleName(name) {
			return sandbox.Invalid("arm", "%q is no name of a module", name)
		}
	}
	if len(s.Argv) < 2 {
		return sandbox.Invalid("arm", "the interpreter is given no program")
	}
	switch first := s.Argv[1]; {
	case inline != "" && first == inline && len(s.Argv) > 2:
	case !path.IsAbs(first):
		return sandbox.Invalid("arm", "an interpreter that is started ahead takes the absolute path of its program first, and no options; not %q", first)
	}
	return nil
}

// Trial is the same start with a program that does nothing, by which it shows whether the interpreter runs the hook.
func (s Start) Trial() Start {
	flag, program := "-c", "pass"
	if s.Interpreter == sandbox.InterpreterNode {
		flag, program = "-e", "0"
	}
	s.Argv = []string{s.Argv[0], flag, program}
	return s
}

// Same reports whether two starts give the same interpreter.
func (s *Start) Same(other *Start) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Interpreter == other.Interpreter && s.Pin == other.Pin && slices.Equal(s.Argv, other.Argv) &&
		slices.Equal(s.Fixed, other.Fixed) && slices.Equal(s.Preload, other.Preload)
}

// Serves reports whether a call can be made by what was started so. env holds the call's KEY=VALUE entries, without those
// that every call has.
func (s *Start) Serves(argv, env []string) bool {
	return slices.Equal(s.Argv, argv) && slices.Equal(s.Fixed, Fixed(env)) &&
		(s.Interpreter != sandbox.InterpreterNode || !slices.ContainsFunc(env, func(e string) bool { return !utf8.ValidString(e) }))
}

// Fixed returns those of a list of KEY=VALUE entries, each once and sorted, that an interpreter, its libraries or the
// loader read while they start, or that choose which one is started. The last entry of a name counts.
func Fixed(env []string) []string {
	var out []string
	for i, e := range env {
		name, _, _ := strings.Cut(e, "=")
		later := slices.ContainsFunc(env[i+1:], func(o string) bool { return strings.HasPrefix(o, name+"=") })
		if !later && fixed(name) {
			out = append(out, e)
		}
	}
	slices.Sort(out)
	return out
}

func fixed(name string) bool {
	switch name {
	case "PATH", "HOME", "LANG", "LANGUAGE", "GLIBC_TUNABLES", "BASH_ENV", "ENV":
		return true
	}
	for _, prefix := range []string{"PYTHON", "NODE_", "LC_", "LD_", "MALLOC_", "OPENSSL_", "SSL_", "UV_", "ICU_", "V8_", "TOOLCELL_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Files are what the hook needs inside.
func (s Start) Files() map[string][]byte {
	if s.Interpreter == sandbox.InterpreterNode {
		return map[string][]byte{Dir + "/ahead.js": nodeHook}
	}
	files := map[string][]byte{pythonFile: pythonHook}
	if s.Compiled != nil {
		files[s.Compiled.file()] = s.Compiled.code
	}
	return files
}

// Environment returns env with what has the interpreter run its hook, which waits on descriptor fd.
func (s Start) Environment(env []string, fd int) []string {
	out := slices.Clone(env)
	set := func(name, before, after string) {
		i := slices.IndexFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		switch {
		case i < 0:
			out = append(out, name+"="+before)
		case out[i] == name+"=":
			out[i] = name + "=" + before
		default:
			out[i] = name + "=" + before + after + out[i][len(name)+1:]
		}
	}
	if s.Interpreter == sandbox.InterpreterNode {
		set("NODE_OPTIONS", "-r "+Dir+"/ahead.js", " ")
	} else {
		set("PYTHONPATH", Dir, ":")
		if len(s.Preload) > 0 {
			out = append(out, variablePreload+"="+strings.Join(s.Preload, ","))
		}
		if s.Pin {
			out = append(out, variablePin+"=1")
		}
	}
	return append(out, variableFD+"="+strconv.Itoa(fd))
}

// magic begins a message.
const magic = "toolcell"

// MaxMessage is the most bytes that a message may have.
const MaxMessage = len(magic) + 8 + 2*sandbox.MaxEnvironment

// Message is what a hook waits for: the call's whole environment.
//
//	magic, length of the rest (32 bits, big endian), then for each entry: its length (32 bits), its bytes
func Message(env []string) ([]byte, error) {
	var rest []byte
	for _, e := range env {
		rest = binary.BigEndian.AppendUint32(rest, uint32(len(e)))
		rest = append(rest, e...)
	}
	out := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(rest)))
	if len(out)+len(rest) > MaxMessage {
		return nil, fmt.Errorf("ahead: an environment of %d bytes", len(rest))
	}
	return append(out, rest...), nil
}
