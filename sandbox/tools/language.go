package tools

import (
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// language is one that run_code runs.
type language struct {
	name    string
	aliases []string
	// file is what the code's file is called, and argv what runs it.
	file string
	argv []string
	env  []string
	// interpreter is what can be started ahead of the code; see [Ahead].
	interpreter sandbox.Interpreter
}

// languages returns run_code's languages, sorted by name.
func languages() []language {
	return []language{
		{name: "bash", aliases: []string{"sh", "bash", "shell"}, file: "main.sh", argv: []string{"bash"}},
		{name: "node", aliases: []string{"js", "javascript", "node"}, file: "main.js", argv: []string{"node"}, interpreter: sandbox.InterpreterNode},
		{
			name: "python", aliases: []string{"py", "python", "python3"}, file: "main.py", argv: []string{"python3"}, interpreter: sandbox.InterpreterPython,
			// Output that is not read from a terminal is otherwise kept back, and lost when the program is killed.
			env: []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8"},
		},
	}
}

// Languages returns the names of run_code's languages, sorted.
func Languages() []string {
	var out []string
	for _, l := range languages() {
		out = append(out, l.name)
	}
	return out
}

// ParseLanguage returns the name of the language that s is a name or an alias of, without regard to case and outer
// spaces: py, python, python3; js, javascript, node; sh, bash, shell. Anything else is an error of kind
// [sandbox.KindInvalid].
func ParseLanguage(s string) (string, error) {
	l, err := findLanguage(s)
	return l.name, err
}

func findLanguage(s string) (language, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	for _, l := range languages() {
		if slices.Contains(l.aliases, word) {
			return l, nil
		}
	}
	return language{}, sandbox.Invalid("", "unsupported language %q (supported: %s).", short(s), strings.Join(Languages(), ", "))
}
