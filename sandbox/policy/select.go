package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// Probe is what a backend answered at the start.
type Probe struct {
	// Backend is its name: one of config.Backends, or the path of an engine's command.
	Backend string
	// Err is why a call would be refused; nil when every required guarantee holds.
	Err error
}

// Selection is the choice of the isolating backend, made once. The zero value chose nothing and refuses.
type Selection struct {
	// Backend is the chosen one; "" when there is none.
	Backend string
	// From is the configuration's word for it ("auto", "native") and where that comes from.
	From string
	// Tried is what each candidate answered, in order. A chosen backend that was not asked, or that is not ready, is still
	// the choice when the configuration names it: then it refuses its calls itself.
	Tried []Probe
}

// Candidates returns the backends to probe for a configuration, in order: the one that it names, or those that auto
// tries, without the ones that cannot honour the configuration.
func Candidates(c *config.Config) []string {
	if b := c.Backend(); b != config.Auto {
		return []string{b}
	}
	var out []string
	for _, b := range config.Backends() {
		if cannotHonour(c, b) == nil {
			out = append(out, b)
		}
	}
	return out
}

// Select chooses the backend. A named one is chosen whatever it answered; auto is the first candidate whose probe is
// free of errors. A candidate without a probe is one that this program does not have.
func Select(c *config.Config, probes []Probe) Selection {
	b := c.Backend()
	s := Selection{From: fmt.Sprintf("runtime.sandbox.binary: %s (%s)", b, c.Origin("runtime.sandbox.binary"))}
	if b != config.Auto {
		s.Backend = b
		if p, ok := find(probes, b); ok {
			s.Tried = []Probe{p}
		}
		return s
	}
	for _, name := range config.Backends() {
		p := answer(c, name, probes)
		s.Tried = append(s.Tried, p)
		if p.Err == nil {
			s.Backend = name
			break
		}
	}
	return s
}

// answer is what counts of a candidate of auto.
func answer(c *config.Config, name string, probes []Probe) Probe {
	if err := cannotHonour(c, name); err != nil {
		return Probe{Backend: name, Err: err}
	}
	if p, ok := find(probes, name); ok {
		return p
	}
	return Probe{Backend: name, Err: errors.New("this program has no such backend")}
}

func find(probes []Probe, name string) (Probe, bool) {
	for _, p := range probes {
		if p.Backend == name {
			return p, true
		}
	}
	return Probe{}, false
}

// cannotHonour says which of the configuration's keys a candidate of auto cannot honour. For a backend that the file
// names these are errors of the file.
func cannotHonour(c *config.Config, backend string) error {
	if backend != config.Native {
		return nil
	}
	tools := c.ToolBackend() == config.Auto // else tools have a backend of their own
	switch {
	case c.Sandbox.Runtime != "":
		return fmt.Errorf("it has no engine's runtime, and runtime.sandbox.runtime is %s", c.Sandbox.Runtime)
	case tools && c.Executor.Granted() != "":
		return fmt.Errorf("it has no network to grant, and executor.docker_network is %s", c.Executor.Network)
	case tools && c.KeepsImageUser():
		return errors.New("it has no image's user, and executor.docker_user is image")
	default:
		return nil
	}
}

// Err is nil when a backend was chosen. Otherwise it is an error of kind [sandbox.KindUnavailable] that names what was
// looked for and, in its cause, what each one lacks.
func (s Selection) Err() error {
	if s.Backend != "" {
		return nil
	}
	if len(s.Tried) == 0 {
		return &sandbox.Error{
			Kind: sandbox.KindUnavailable, Op: "select a backend", Cause: errors.New("no sandbox available (none was looked for)"),
		}
	}
	var names, reasons []string
	causes := make([]error, 0, len(s.Tried))
	for _, p := range s.Tried {
		if p.Err == nil { // no choice of Select's
			p.Err = errors.New("it was not chosen")
		}
		names = append(names, p.Backend)
		reasons = append(reasons, p.Backend+": "+p.Err.Error())
		causes = append(causes, p.Err)
	}
	return &sandbox.Error{
		Kind: sandbox.KindUnavailable, Op: "select a backend",
		Cause: &unavailableError{
			text:   fmt.Sprintf("no sandbox available (looked for %s): %s", strings.Join(names, ", "), strings.Join(reasons, "; ")),
			causes: causes,
		},
		Fix: "`toolcell doctor --backend NAME` says how to mend one",
	}
}

// unavailableError keeps the causes of every candidate behind one line.
type unavailableError struct {
	text   string
	causes []error
}

func (e *unavailableError) Error() string   { return e.text }
func (e *unavailableError) Unwrap() []error { return e.causes }

// probeErr is why the chosen backend would refuse its calls, or nil.
func (s Selection) probeErr(backend string) error {
	p, _ := find(s.Tried, backend)
	return p.Err
}
