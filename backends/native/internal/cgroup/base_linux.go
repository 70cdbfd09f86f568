package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const fixPlace = "start the spawner first; its cgroup is made around it"

var (
	errNotPlaced     = errors.New("the spawner's cgroup is not made yet")
	errNoControllers = errors.New("none of the controllers is available")
)

// enterV2 makes the instance's directory in the first place that allows controllers below it. When there is none and
// systemd can be asked, h stays without a directory until PlaceSpawner.
func (m *Manager) enterV2(h *hierarchy, parent string) error {
	bases, err := basesV2(h.place, parent)
	if err != nil {
		return err
	}
	var errs []error
	for _, base := range bases {
		err := m.settleIn(h, base)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if parent == "" {
		err := m.scopes.askable()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("ask systemd: %w", err))
	}
	return join(errs...)
}

// basesV2 lists where the instance's directory may go, best first: the configured parent, or the process's own cgroup and
// then the ancestors that systemd marked as delegated.
func basesV2(p place, parent string) ([]string, error) {
	base, err := p.base(parent)
	if err != nil || parent != "" {
		return []string{base}, err
	}
	bases := []string{base}
	for up := p.own; up != "/"; {
		up = path.Dir(up)
		d, err := openDir(path.Join(p.mount, up))
		if err != nil {
			return bases, nil // what cannot be looked at cannot be used either
		}
		if delegated(d) {
			bases = append(bases, path.Join(p.mount, up))
		}
		d.root.Close()
	}
	return bases, nil
}

// wanted are the names of the controllers that have to be enabled; accounting of CPU time is always on.
func (h *hierarchy) wanted() []string {
	return slices.DeleteFunc(namesOf(h.controllers), func(name string) bool { return name == CPUAcct })
}

// settle enables the controllers below base and makes the instance's directory there.
func (m *Manager) settle(h *hierarchy, base string) error {
	parent, err := openDir(base)
	if err != nil {
		return err
	}
	defer parent.root.Close()
	if err := m.enableSome(h, parent); err != nil {
		return err
	}
	inst, err := m.makeInstance(base, m.name)
	if err != nil {
		return err
	}
	if err := m.adopt(h, inst); err != nil {
		return join(err, m.discard(inst), inst.root.Close())
	}
	return nil
}

func (m *Manager) enableSome(h *hierarchy, d dir) error {
	on, err := enable(d, h.wanted())
	if err == nil && len(on) == 0 && len(h.wanted()) > 0 {
		err = d.fail("enable", strings.Join(h.wanted(), ","), errNoControllers)
	}
	return err
}

// adopt enables the controllers in the instance's directory and keeps those that are there.
func (m *Manager) adopt(h *hierarchy, inst dir) error {
	on, err := enable(inst, h.wanted())
	if err != nil {
		return err
	}
	var missing []controller
	h.controllers, missing = split(h.controllers, append(on, CPUAcct))
	for _, c := range missing {
		m.problem(c.name, &Error{
			Op: "cgroup", Controller: c.name, Fix: fixMissing,
			Cause: fmt.Errorf("%s does not have it", inst.path("cgroup.controllers")),
		})
	}
	h.inst = inst
	return nil
}

// problem records why a controller does not work, or with nil that it does.
func (m *Manager) problem(name string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.problems, name)
		return
	}
	m.problems[name] = err
}

// await marks a hierarchy whose directory PlaceSpawner will make.
func (m *Manager) await(h *hierarchy) {
	m.waiting = h
	for _, c := range h.controllers {
		m.problem(c.name, &Error{Op: "cgroup", Controller: c.name, Cause: errNotPlaced, Fix: fixPlace})
	}
}

// spawnerDir is the leaf that the spawner lives in on v2.
const spawnerDir = "spawner"

// enterSpawner moves a process to spawner/ below an instance's directory.
func (m *Manager) enterSpawner(inst dir, pid int) error {
	d := inst.sub(spawnerDir)
	if err := m.mkdir(d); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	m.give(inst) // who forks needs the right on what the spawner's place and the calls' have in common
	return d.writeInt("cgroup.procs", int64(pid))
}

// PlaceSpawner puts a spawner where the kernel wants it: on v2 into a leaf beside the calls. Without a place of its own
// on v2 the manager has systemd make a transient scope around that process; limits can be set only after that. On v1
// there is nothing to do. It may be called again for further spawners, and for a new one when all of them have ended.
func (m *Manager) PlaceSpawner(pid int) error {
	m.life.RLock()
	defer m.life.RUnlock()
	m.move.Lock()
	defer m.move.Unlock()
	found, _ := m.snapshot()
	for _, h := range found {
		if !h.v2 || h.scope {
			continue
		}
		if err := m.enterSpawner(h.inst, pid); err != nil {
			return explain("place spawner", "", err)
		}
	}
	if m.waiting == nil {
		return nil
	}
	if err := m.placeInScope(found, pid); err != nil {
		return explain("place spawner", "", err)
	}
	return nil
}

// NeedsSpawner reports whether limits may depend on where the spawner is placed, as on v2.
func (m *Manager) NeedsSpawner() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting != nil || slices.ContainsFunc(m.found, func(h *hierarchy) bool { return h.v2 })
}

// placeInScope uses the scope of an earlier spawner if it still exists; systemd removes one that is empty.
func (m *Manager) placeInScope(found []*hierarchy, pid int) error {
	for _, h := range found {
		if !h.scope {
			continue
		}
		err := m.enterSpawner(h.inst, pid)
		if errors.Is(err, unix.EACCES) {
			err = m.attach(h, pid)
		}
		if !gone(err) {
			return err
		}
	}
	return m.newScope(found, pid)
}

func (m *Manager) attach(h *hierarchy, pid int) error {
	ctx, cancel := scopeContext()
	defer cancel()
	return m.scopes.attach(ctx, scopeGroup{unit: path.Base(h.inst.root.Name()), sub: spawnerDir}, pid)
}

func (m *Manager) newScope(found []*hierarchy, pid int) error {
	ctx, cancel := scopeContext()
	defer cancel()
	at, err := m.scopes.scope(ctx, pid)
	if err != nil {
		return err
	}
	h := &hierarchy{place: m.waiting.place, controllers: m.waiting.controllers, scope: true}
	rel, err := relative(h.root, at)
	if err != nil {
		return err
	}
	inst, err := openDir(path.Join(h.mount, rel))
	if err != nil {
		return err
	}
	if err := m.moveIn(h, inst, pid); err != nil {
		return join(err, inst.root.Close())
	}
	m.replaceScope(found, h)
	return nil
}

// moveIn makes a fresh scope an instance's directory: no process may be in it when controllers are enabled.
func (m *Manager) moveIn(h *hierarchy, inst dir, pid int) error {
	if err := inst.lock(); err != nil {
		return err
	}
	if err := m.enterSpawner(inst, pid); err != nil {
		return err
	}
	if err := m.enableSome(h, inst); err != nil {
		return err
	}
	for _, c := range h.controllers {
		m.problem(c.name, nil)
	}
	if err := m.adopt(h, inst); err != nil {
		return err
	}
	if !m.trialLater() {
		m.try(h)
	}
	return nil
}

// replaceScope publishes the new scope and gives up the groups made ahead in an old one.
func (m *Manager) replaceScope(found []*hierarchy, h *hierarchy) {
	next := []*hierarchy{h}
	for _, old := range found {
		if !old.scope {
			next = append(next, old)
			continue
		}
		old.inst.root.Close() // systemd removed the directory; calls that are still released find nothing
	}
	m.mu.Lock()
	m.found = next
	ready := m.ready
	m.ready = map[kind][]*Group{}
	m.mu.Unlock()
	for _, groups := range ready {
		for _, g := range groups {
			g.Release()
		}
	}
	wake(m.fill)
}
