package ahead

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
)

// Compiled is Python's hook as one interpreter compiled it. Compiling it in each interpreter that waits takes time, and
// leaves more memory behind in it than the hook itself takes.
type Compiled struct {
	// tag is what that interpreter's compiled files have in their names (sys.implementation.cache_tag).
	tag  string
	code []byte
}

//go:embed compile.py
var compileHook string

// maxCompiled is the most bytes that a compiled hook may have.
const maxCompiled = 64 << 10

// tagName is what a cache_tag looks like.
var tagName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// Compiler is the command by which an interpreter compiles the hook: it reads the source on stdin, and writes what
// [ParseCompiled] takes. It imports nothing but of the interpreter's own.
func Compiler(python string) (argv []string, source []byte) {
	return []string{python, "-I", "-S", "-c", compileHook, pythonFile}, pythonHook
}

// ParseCompiled takes the output of [Compiler]: the tag, a zero byte, the contents of the file.
func ParseCompiled(output []byte) (*Compiled, error) {
	tag, code, ok := bytes.Cut(output, []byte{0})
	if !ok || !tagName.Match(tag) || len(code) == 0 || len(code) > maxCompiled {
		return nil, fmt.Errorf("ahead: %.40q and %d bytes are no compiled hook", tag, len(code))
	}
	return &Compiled{tag: string(tag), code: code}, nil
}

// file is where an interpreter looks for what it compiled. It takes its source instead when that does not suit it, as when
// another version was installed meanwhile (PEP 3147, importlib's SourceLoader.get_code).
func (c *Compiled) file() string { return Dir + "/__pycache__/sitecustomize." + c.tag + ".pyc" }
