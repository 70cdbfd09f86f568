package cgroup

import "sync"

// first is the one group of a manager for one call.
type first struct {
	expect, sweep sync.Once
	mu            sync.Mutex
	// dirs are the group's directories, made and with the limits set, until they are taken.
	dirs   map[*hierarchy]dir
	limits Limits
	// expected says that Expect was called.
	expected bool
	// more are the instance directories of further groups on v1.
	more []dir
}

// Expect tells a manager for one call (Config.Once) what the call will ask for: its directories are made and its
// limits are set and read back, each controller's alone. That is the trial that [Open] makes otherwise, so ask
// [Manager.Controller] after it. Only the first Expect does anything; for any other manager none does.
func (m *Manager) Expect(l Limits) {
	if m.once == nil {
		return
	}
	m.once.expect.Do(func() { m.makeFirst(l.orTrial()) })
}

// orTrial has no limit left out, so that every controller is tried.
func (l Limits) orTrial() Limits {
	t := trial()
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = t.MemoryBytes
	}
	if l.PIDs <= 0 {
		l.PIDs = t.PIDs
	}
	if l.validate() != nil || l.CPUs == 0 {
		l.CPUs = t.CPUs
	}
	return l
}

func (m *Manager) makeFirst(l Limits) {
	m.life.RLock()
	defer m.life.RUnlock()
	dirs := make(map[*hierarchy]dir)
	found, number := m.snapshot()
	for _, h := range found {
		d, err := m.firstDir(h, number)
		if err != nil {
			m.blame(h, err)
			h.controllers = nil
			continue
		}
		dirs[h] = d
		m.tryAll(h, d, l)
	}
	m.once.mu.Lock()
	defer m.once.mu.Unlock()
	m.once.dirs, m.once.limits, m.once.expected = dirs, l, true
}

// trialLater reports whether a hierarchy that is found now is tried by Expect.
func (m *Manager) trialLater() bool {
	if m.once == nil {
		return false
	}
	m.once.mu.Lock()
	defer m.once.mu.Unlock()
	return !m.once.expected
}

// alone reports whether the instance's directory in a hierarchy is the first group's own. On v2 the spawner lives in
// it, so groups are beside that.
func (m *Manager) alone(h *hierarchy) bool { return m.once != nil && !h.v2 }

func (m *Manager) firstDir(h *hierarchy, number int) (dir, error) {
	if m.alone(h) {
		return h.inst, nil
	}
	return m.makeCall(h, number)
}

// takeFirst returns the directory that Expect made in a hierarchy, the first time it is asked for, and whether it has
// these limits.
func (m *Manager) takeFirst(h *hierarchy, l Limits) (d dir, set, ok bool) {
	if m.once == nil {
		return dir{}, false, false
	}
	m.once.mu.Lock()
	defer m.once.mu.Unlock()
	d, ok = m.once.dirs[h]
	delete(m.once.dirs, h)
	return d, m.once.limits == l, ok
}

// another makes a directory for a group that is not the first. On v1 it is an instance's directory too: the first
// group's has limits, which would hold for whatever is below it.
func (m *Manager) another(h *hierarchy, number int) (dir, error) {
	if !m.alone(h) {
		return m.makeCall(h, number)
	}
	d, err := m.makeInstance(parentOf(h.inst), newName())
	if err != nil {
		return dir{}, err
	}
	m.once.mu.Lock()
	defer m.once.mu.Unlock()
	m.once.more = append(m.once.more, d)
	return d, nil
}

// instances are the directories that Close removes with all that is below them.
func (m *Manager) instances() []dir {
	var all []dir
	for _, h := range m.found {
		all = append(all, h.inst)
	}
	if m.once != nil {
		all = append(all, m.once.more...)
	}
	return all
}

// sweepOnce removes dead neighbours beside the group's life; Close waits for it.
func (m *Manager) sweepOnce() {
	if m.once != nil {
		m.once.sweep.Do(func() { m.workers.Go(m.sweep) })
	}
}
