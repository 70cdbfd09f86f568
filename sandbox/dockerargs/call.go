package dockerargs

import (
	"fmt"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
)

func setWorkdir(s *state, spelled, value string) error {
	if !strings.HasPrefix(value, "/") {
		return invalid(spelled, fmt.Sprintf("%q is not an absolute path", value), "name a directory inside, like /tmp")
	}
	s.inv.Profile.Workdir = value
	return nil
}

func setEnv(s *state, spelled, value string) error {
	entry, ok, err := s.envEntry(spelled, value)
	if ok {
		s.env = append(s.env, entry)
	}
	return err
}

// envEntry completes NAME from the caller's environment; a name that is not set there is left out, as engines do.
func (s *state) envEntry(op, value string) (entry string, ok bool, err error) {
	name, _, given := strings.Cut(value, "=")
	switch {
	case name == "":
		return "", false, invalid(op, fmt.Sprintf("%q has no name", value), "write NAME=VALUE or NAME")
	case given:
		return value, true, nil
	case s.parser.LookupEnv == nil:
		return "", false, nil
	}
	v, ok := s.parser.LookupEnv(name)
	return name + "=" + v, ok, nil
}

// setEnvFile reads one entry a line; blank lines and lines that begin with # are skipped.
func setEnvFile(s *state, spelled, value string) error {
	if s.parser.ReadFile == nil {
		return invalid(spelled, "files are not read here", "use -e NAME=VALUE")
	}
	data, err := s.parser.ReadFile(value)
	if err != nil {
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: spelled, Cause: err}
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		op := fmt.Sprintf("%s %s:%d", spelled, value, n)
		if name, _, _ := strings.Cut(line, "="); strings.ContainsAny(name, " \t") {
			return invalid(op, fmt.Sprintf("the name %q holds white space", name), "")
		}
		entry, ok, err := s.envEntry(op, line)
		if err != nil {
			return err
		}
		if ok {
			s.fileEnv = append(s.fileEnv, entry)
		}
	}
	return nil
}

func setName(s *state, spelled, value string) error {
	if value == "" {
		return invalid(spelled, "the value is empty", "")
	}
	if err := (sandbox.Command{Argv: []string{"true"}, ID: value}).Validate(); err != nil {
		return err
	}
	s.inv.Name = value
	return nil
}

func setLabel(s *state, spelled, value string) error {
	if name, _, _ := strings.Cut(value, "="); name == "" {
		return invalid(spelled, fmt.Sprintf("%q has no key", value), "write KEY=VALUE")
	}
	s.inv.Labels = append(s.inv.Labels, value)
	return nil
}

func setInterpreter(s *state, spelled, value string) error {
	if !strings.HasPrefix(value, "/") {
		return invalid(spelled, fmt.Sprintf("%q is not an absolute path", value), "")
	}
	s.inv.Profile.Interpreters = append(s.inv.Profile.Interpreters, value)
	return nil
}

func setRequire(s *state, spelled, value string) error {
	g := sandbox.Guarantee(value)
	if !g.Valid() {
		return invalid(spelled, fmt.Sprintf("%q is no guarantee", value), "`toolcell guarantees` lists them")
	}
	s.inv.Profile.Require = append(s.inv.Profile.Require, g)
	return nil
}
