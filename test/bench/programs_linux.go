package main

import "github.com/soulacy/toolcell/sandbox"

// program is what is run, by absolute path, so that no way spends its time on a search.
type program struct {
	// name is the name of its table.
	name string
	argv []string
	// output is what it must print.
	output string
	// rounds divides the number of rounds: what takes long is called less often.
	rounds int
	// code is the same program as run_code takes it, nil where there is none.
	code *snippet
}

// snippet is code in a language.
type snippet struct {
	language string
	file     string
	code     string
	// argv and env start the file as run_code does.
	argv, env   []string
	interpreter sandbox.Interpreter
}

func truth() program { return program{name: "true", argv: []string{"/bin/true"}, rounds: 1} }

// The snippets. What they print says that they ran.
const (
	pythonPrint   = "print(2+2)"
	nodePrint     = "console.log(2+2)"
	pythonImports = "import json, re, csv, sqlite3, datetime; print(json.dumps({'a': re.sub('x', 'y', 'xx'), 'd': str(datetime.date(2020, 1, 1))}))"
)

// importedModules are what pythonImports imports.
func importedModules() []string { return []string{"json", "re", "csv", "sqlite3", "datetime"} }

func pythonSnippet(code string) *snippet {
	return &snippet{
		language: "python", file: "main.py", code: code, argv: []string{"python3"}, interpreter: sandbox.InterpreterPython,
		env: []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8"},
	}
}

func python() program {
	return program{
		name: "python", argv: []string{"/usr/bin/python3", "-c", pythonPrint}, output: "4\n", rounds: 2, code: pythonSnippet(pythonPrint),
	}
}

// imports is a program whose start is mostly imports, as many tools' is.
func imports() program {
	return program{
		name: "imports", argv: []string{"/usr/bin/python3", "-c", pythonImports}, output: `{"a": "yy", "d": "2020-01-01"}` + "\n", rounds: 2,
		code: pythonSnippet(pythonImports),
	}
}

func node() program {
	return program{
		name: "node", argv: []string{"/usr/bin/node", "-e", nodePrint}, output: "4\n", rounds: 4,
		code: &snippet{language: "node", file: "main.js", code: nodePrint, argv: []string{"node"}, interpreter: sandbox.InterpreterNode},
	}
}
