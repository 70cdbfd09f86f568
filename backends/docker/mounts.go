package docker

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/soulacy/toolcell/sandbox"
)

// resolveMounts checks every declared mount on this host and returns them with the places that their sources really are.
func (b *Backend) resolveMounts(p sandbox.ContainerProfile, e *engine, u user) ([]sandbox.Mount, error) {
	all, err := p.AllMounts()
	if err != nil {
		return nil, err
	}
	out := make([]sandbox.Mount, 0, len(all))
	for _, m := range all {
		r, err := b.resolveMount(m, e, u)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (b *Backend) resolveMount(m sandbox.Mount, e *engine, u user) (sandbox.Mount, error) {
	op := "mount " + strconv.Quote(m.Source)
	resolved, err := m.Resolve(b.config.Protected...)
	if err != nil {
		return m, err
	}
	m.Source = resolved
	if err := checkText(op, m, e.dialect); err != nil {
		return m, err
	}
	if m.Recursive, err = recursive(op, m, e); err != nil {
		return m, err
	}
	if !e.local {
		return m, nil // another machine's file sharing decides who may do what
	}
	return m, checkOwner(op, m, e, u)
}

// checkText refuses paths that a command line of an engine cannot carry: its answer and its request are JSON, its mounts
// are CSV.
func checkText(op string, m sandbox.Mount, d dialect) error {
	for _, p := range []string{m.Source, m.Target} {
		if !utf8.ValidString(p) {
			return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: errors.New("a path is not UTF-8, and container engines take no other"), Fix: "rename it"}
		}
		if d == dialectNerdctl && strings.ContainsAny(p[len(filepath.VolumeName(p)):], ":,\"\n\r") {
			return &sandbox.Error{
				Kind: sandbox.KindInvalid, Op: op, Cause: errors.New("a path holds a colon, a comma, a quote or a new line, which nerdctl's command line cannot carry"),
				Fix: "rename it, or use docker or podman",
			}
		}
		if strings.Contains(p, "\r\n") {
			return &sandbox.Error{Kind: sandbox.KindInvalid, Op: op, Cause: errors.New("a path holds CR LF, which an engine's command line would change"), Fix: "rename it"}
		}
	}
	return nil
}

// recursive decides whether what is mounted below a source is shown, and refuses a source for what is there.
func recursive(op string, m sandbox.Mount, e *engine) (bool, error) {
	refuse := func(cause, fix string) (bool, error) {
		return false, &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Guarantee: sandbox.FSNoHostFiles, Cause: errors.New(cause), Fix: fix}
	}
	if !e.local {
		if m.Recursive {
			return refuse("what is mounted below it cannot be seen from here", "leave recursive out")
		}
		return false, nil
	}
	below, err := submounts(m.Source)
	if err != nil {
		return false, &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: err}
	}
	for _, s := range below {
		if s.kernel {
			return refuse(fmt.Sprintf("a %s file system, the kernel's own, is mounted below it at %q", s.kind, s.path), "mount a directory without it")
		}
	}
	switch {
	case len(below) == 0:
		return false, nil
	case !m.Recursive:
		return refuse(fmt.Sprintf("something else is mounted below it, at %q", below[0].path), "mount it with rbind to show that too, or mount each place by itself")
	case !m.Writable || e.dialect == dialectNerdctl:
		// A read-only bind leaves what is mounted below writable on engines before docker's API 1.44.
		return refuse(fmt.Sprintf("something else is mounted below it, at %q, which would stay writable", below[0].path), "mount each place by itself")
	default:
		return true, nil
	}
}
