package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// AgentFile is the name of an agent's manifest.
const AgentFile = "SOUL.yaml"

// Agent is what an agent's manifest says about where its tools run. It can ask for more isolation than the operator's
// floor; that it gets no less is package policy's work. The zero value asks for nothing.
type Agent struct {
	// ID is the agent's id, or the name of the manifest's directory.
	ID string
	// File is the manifest's path.
	File string
	// Backend is execution.backend: where its file, inline and plugin tools run. "" asks for nothing.
	Backend Execution
	// PythonTools is execution.python_tools, the operator's key for this one agent. "" asks for nothing.
	PythonTools PythonTools
	// Isolation is execution.isolation: "sandbox" for every call of the agent, builtins included, or "".
	Isolation string
	// Env names the variables of the gateway that the agent's tools get.
	Env []string
	// Warnings are what is wrong and stopped nothing: names in env that are none, keys that are nearly those that are read.
	Warnings []*Problem

	origins map[string]Origin
}

// Origin returns where the value of a key of the manifest ("execution.backend") comes from.
func (a Agent) Origin(key string) Origin { return a.origins[key] }

func (a *Agent) schema() section {
	return section{open: true, keys: []key{
		{"id", text{&a.ID, agentID()}},
		{"execution", section{keys: []key{
			{"backend", word[Execution]{p: &a.Backend, words: executions()}},
			{"python_tools", word[PythonTools]{p: &a.PythonTools, words: []PythonTools{ToolsContainer, ToolsLimits}}},
			{"isolation", word[string]{p: &a.Isolation, words: []string{IsolationSandbox}}},
		}}},
		{"env", list[string]{&a.Env, form{"the name of an environment variable", func(s string) (string, error) { return s, nil }}}},
	}}
}

// ParseAgent reads a manifest from the file of that name: id, execution and env. Everything else is the gateway's. The
// error, if any, is made of [Problem]s.
func ParseAgent(name string, data []byte) (Agent, error) {
	d := newDecoder(name)
	a := Agent{File: name, origins: d.origins}
	if root, ok := d.parseTree(data); ok {
		a.schema().decode(d, "", root)
	}
	a.Warnings = d.warnings
	if a.ID == "" {
		a.ID = filepath.Base(filepath.Dir(name))
	}
	if i := strings.IndexFunc(a.ID, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		d.contradiction("id", quote(a.ID)+" has a character that cannot be seen", "leave it out")
	}
	if a.Backend != "" && a.PythonTools != "" && a.Backend.Limits() != (a.PythonTools == ToolsLimits) {
		d.contradiction("execution.python_tools", string(a.PythonTools)+" contradicts backend: "+string(a.Backend), "remove one of them")
	}
	a.dropNoNames(d)
	if err := d.err(); err != nil {
		return Agent{}, err
	}
	return a, nil
}

// isVariable reports whether s is the name of a variable (POSIX.1-2017, 8.1, and lower case).
func isVariable(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// dropNoNames takes out of env what is no variable's name: gateways skip it, and a value in the manifest ("NAME=VALUE")
// is none of the gateway's. What is skipped is warned of by its name alone.
func (a *Agent) dropNoNames(d *decoder) {
	names := make([]string, 0, len(a.Env))
	for _, s := range a.Env {
		if isVariable(s) {
			names = append(names, s)
			continue
		}
		name, _, _ := strings.Cut(s, "=")
		at := d.origins["env"]
		a.Warnings = append(a.Warnings, &Problem{
			File: a.File, Line: at.Line, Column: at.Column, Key: "env", Cause: quote(name) + " is skipped: it is no name of a variable",
		})
	}
	a.Env = names
}

// LoadAgent reads the manifest in file.
func LoadAgent(file string) (Agent, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return Agent{}, &Problem{File: file, Cause: err.Error(), err: err}
	}
	data, err := readFile(abs, false)
	if err != nil {
		return Agent{}, fileProblem(abs, err)
	}
	return ParseAgent(abs, data)
}

// LoadAgents reads the manifests in dir and in its subdirectories' first level, in the order of their paths. A manifest
// that cannot be read, or has the id of another, is part of the error and does not keep the others from being returned:
// what the operator grants to an id is for one agent.
func LoadAgents(dir string) ([]Agent, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fileProblem(dir, err)
	}
	files := []string{filepath.Join(dir, AgentFile)}
	for _, e := range entries {
		files = append(files, filepath.Join(dir, e.Name(), AgentFile))
	}
	var agents []Agent
	var errs []error
	byID := map[string]string{}
	for _, f := range files {
		switch a, err := LoadAgent(f); {
		case missing(err):
		case err != nil:
			errs = append(errs, err)
		case byID[a.ID] != "":
			at := a.Origin("id")
			errs = append(errs, &Problem{
				File: a.File, Line: at.Line, Column: at.Column, Key: "id",
				Cause: quote(a.ID) + " is also the id of " + byID[a.ID], Fix: "give each agent an id of its own",
			})
		default:
			byID[a.ID] = a.File
			agents = append(agents, a)
		}
	}
	return agents, errors.Join(errs...)
}
