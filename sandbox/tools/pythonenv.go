package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

// pythonEnv is the environment of an agent's or a plugin's own tool: the variables that the agent names, and over them what
// a read-only root needs and what makes output arrive as it is written. Values go to the program alone; see
// [sandbox.Command].Env.
func (t Tools) pythonEnv(p Place) []string {
	own := []string{"PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONIOENCODING=utf-8"}
	if !p.OnHost {
		own = append(own, "HOME="+sandbox.DefaultWorkdir, "TMPDIR="+sandbox.DefaultWorkdir)
	}
	return append(t.Python.forwarded(p.OnHost), own...)
}

// forwarded are the variables that the agent names, each once.
func (r PythonRules) forwarded(onHost bool) []string {
	lookup := r.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	var out, have []string
	for _, name := range r.Env {
		// The sandbox's own: the host's values name nothing inside.
		inside := slices.Contains([]string{"PATH", "HOME", "TMPDIR"}, name)
		if !variable(name) || slices.Contains(have, name) || inside && !onHost {
			continue
		}
		if value, ok := lookup(name); ok {
			have, out = append(have, name), append(out, name+"="+value)
		}
	}
	return out
}

// variable reports whether a variable can have that name.
func variable(name string) bool { return name != "" && !strings.ContainsAny(name, "= \t\n\r\x00") }

// checkObject refuses arguments that are no JSON object. They go to the tool as they are.
func checkObject(raw json.RawMessage) error {
	if len(raw) > MaxArguments {
		return sandbox.Invalid("arguments", "%d bytes, more than %d", len(raw), MaxArguments)
	}
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil
	case raw[0] != '{':
		return sandbox.Invalid("arguments", "not a JSON object")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return sandbox.Invalid("arguments", "%w", err)
	}
	return nil
}
