package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Source says where to look for the state of the system. The zero value is the running process.
type Source struct {
	// Self is a directory with the files mountinfo and cgroup; "" means /proc/self.
	Self string
	// Swaps is the list of swap areas; "" means /proc/swaps.
	Swaps string
}

func (s Source) self(name string) string {
	if s.Self == "" {
		return "/proc/self/" + name
	}
	return filepath.Join(s.Self, name)
}

// swapOn reports whether the host has any swap area: the file then has a line after its heading (proc_swaps(5)).
func (s Source) swapOn() (bool, error) {
	name := s.Swaps
	if name == "" {
		name = "/proc/swaps"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	_, areas, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(areas) != "", nil
}

// hierarchy is one mounted hierarchy in use.
type hierarchy struct {
	place
	controllers []controller // those that this package uses here
	inst        dir          // the instance's directory, locked
	scope       bool         // inst is a scope that systemd made and removes
}

// survey is what discover finds out.
type survey struct {
	mounts   []mount
	found    []*hierarchy
	problems map[string]error // for each controller that no hierarchy in sight has
}

// discover reads where this process lives. A controller that is on v1 is not on v2 (cgroups(7)).
func (s Source) discover() (*survey, error) {
	mounts, members, err := s.load()
	if err != nil {
		return nil, err
	}
	v := &survey{mounts: mounts, problems: map[string]error{}}
	rest := controllersV1()
	for _, m := range members {
		if !m.v2 {
			var here []controller
			here, rest = split(rest, m.controllers)
			v.add(m, here)
		}
	}
	for _, m := range members {
		if m.v2 {
			here, _ := split(controllersV2(), namesOf(rest))
			v.add(m, here)
			rest = nil
		}
	}
	v.lack(rest, errors.New("the kernel does not have it"), fixMissing)
	return v, nil
}

// add notes a hierarchy with the controllers that are used there.
func (v *survey) add(m membership, here []controller) {
	if len(here) == 0 {
		return
	}
	p, err := locate(v.mounts, m)
	if err != nil {
		v.lack(here, err, fixUnseen)
		return
	}
	v.found = append(v.found, &hierarchy{place: p, controllers: here})
}

func (v *survey) lack(controllers []controller, cause error, fix string) {
	for _, c := range controllers {
		v.problems[c.name] = &Error{Op: "cgroup", Controller: c.name, Cause: cause, Fix: fix}
	}
}

func (s Source) load() ([]mount, []membership, error) {
	info, err := os.ReadFile(s.self("mountinfo"))
	if err != nil {
		return nil, nil, err
	}
	mounts, err := parseMountinfo(string(info))
	if err != nil {
		return nil, nil, err
	}
	own, err := os.ReadFile(s.self("cgroup"))
	if err != nil {
		return nil, nil, err
	}
	members, err := parseMemberships(string(own))
	return mounts, members, err
}

// split takes out the controllers with the given names.
func split(all []controller, names []string) (in, out []controller) {
	for _, c := range all {
		if slices.Contains(names, c.name) {
			in = append(in, c)
		} else {
			out = append(out, c)
		}
	}
	return in, out
}

func namesOf(all []controller) []string {
	names := make([]string, 0, len(all))
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// needed reports whether a group with these limits has a directory here.
func (h *hierarchy) needed(l Limits) bool {
	return slices.ContainsFunc(h.controllers, func(c controller) bool { return l.wants(c.name) })
}

func (h *hierarchy) has(name string) bool {
	return slices.ContainsFunc(h.controllers, func(c controller) bool { return c.name == name })
}

func (h *hierarchy) version() string {
	if h.v2 {
		return "cgroup v2"
	}
	return "cgroup v1"
}

// set writes the limits of a group's directory.
func (h *hierarchy) set(d dir, l Limits) error {
	for _, c := range h.controllers {
		if !l.wants(c.name) {
			continue
		}
		if err := c.set(d, l); err != nil {
			return err
		}
	}
	return nil
}

// lock takes the directory for this instance. It answers EWOULDBLOCK when another process sweeps at this moment.
func (d dir) lock() error {
	err := d.control(func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if err != nil {
		return d.fail("flock", "", err)
	}
	return nil
}

// noSwap reports an error unless the group's memory limit also bounds swap.
func (h *hierarchy) noSwap(d dir, s Source) error {
	file := memswLimit
	if h.v2 {
		file = swapMax
	}
	if found, err := d.has(file); err != nil || found {
		return err
	}
	on, err := s.swapOn()
	if err == nil && on {
		err = &Error{Op: "cgroup", Controller: Memory, Cause: fmt.Errorf("swap is on and %s is absent", file), Fix: fixSwap}
	}
	return err
}
