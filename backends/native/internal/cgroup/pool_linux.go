package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// killAfter is how long a released group may stay busy before its processes are killed.
const killAfter = time.Second

// maxBacklog is how many released groups may wait for their removal.
const maxBacklog = 64

// removal is the directories of one released group.
type removal struct {
	dirs  []dir
	files []*os.File
	since time.Time
	due   time.Time
	wait  time.Duration
	told  bool
}

func parentOf(d dir) string { return filepath.Dir(d.root.Name()) }

func (m *Manager) start() {
	m.workers.Go(m.filler)
	m.workers.Go(m.remover)
}

// wake tells a worker to look; one message waiting is enough.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Acquire returns a group with these limits, from those made ahead if one is there. Release has to be called. It fails
// with an [*Error] when a controller that the limits need does not work.
func (m *Manager) Acquire(l Limits) (*Group, error) {
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("acquire cgroup: %w", err)
	}
	for _, name := range []string{Memory, PIDs, CPU} {
		if l.wants(name) {
			if err := m.Controller(name); err != nil {
				return nil, err
			}
		}
	}
	m.life.RLock()
	defer m.life.RUnlock()
	g, err := m.take(l)
	if err != nil {
		return nil, err
	}
	m.sweepOnce()
	defer wake(m.fill)
	if g != nil {
		if err := g.rewrite(l); err == nil {
			return g, nil
		}
		g.Release()
	}
	return m.make(l)
}

// take returns a ready group of the kind, with the very limits if possible, or nil.
func (m *Manager) take(l Limits) (*Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, &Error{Op: "acquire cgroup", Cause: os.ErrClosed}
	}
	k := l.kind()
	m.latest[k] = l
	all := m.ready[k]
	if len(all) == 0 {
		return nil, nil
	}
	i := max(0, slices.IndexFunc(all, func(g *Group) bool { return g.limits == l }))
	g := all[i]
	m.ready[k] = slices.Delete(all, i, i+1)
	return g, nil
}

// Prepare has groups with these limits made ahead, before the first Acquire asks for one.
func (m *Manager) Prepare(l Limits) error {
	if err := l.validate(); err != nil {
		return fmt.Errorf("prepare cgroups: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[l.kind()] = l
	wake(m.fill)
	return nil
}

// filler makes groups ahead until Close.
func (m *Manager) filler() {
	for {
		select {
		case <-m.done:
			return
		case <-m.fill:
		}
		for {
			l, short := m.short()
			if !short {
				break
			}
			g, err := m.make(l)
			if err != nil {
				// The next Acquire meets the same and tells its caller.
				m.log.Warn("no cgroup made ahead", "error", err)
				break
			}
			m.keep(g)
		}
	}
}

// short returns limits of which too few groups are ready.
func (m *Manager) short() (Limits, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, l := range m.latest {
		if !m.closed && len(m.ready[k]) < m.ahead {
			return l, true
		}
	}
	return Limits{}, false
}

func (m *Manager) keep(g *Group) {
	m.mu.Lock()
	closed := m.closed
	if !closed {
		k := g.limits.kind()
		m.ready[k] = append(m.ready[k], g)
	}
	m.mu.Unlock()
	if closed {
		g.Release()
	}
}

// leave queues a group's directories for removal. When the worker is far behind, the caller does one removal itself, so
// that directories never pile up.
func (m *Manager) leave(g *Group) {
	r := &removal{since: time.Now(), wait: pause, files: g.files()}
	for _, s := range g.spots {
		r.dirs = append(r.dirs, s.d)
	}
	if m.once != nil {
		r.close()
		return // Close removes the directories
	}
	if m.late() && m.removeOne(r) {
		return
	}
	m.mu.Lock()
	m.leaving = append(m.leaving, r)
	m.mu.Unlock()
	wake(m.empty)
}

// late reports that the worker is far behind, or that there is none any more.
func (m *Manager) late() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed || len(m.leaving)+m.taken >= maxBacklog
}

// remover removes released groups until Close, which removes the rest.
func (m *Manager) remover() {
	const idle = time.Hour
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		select {
		case <-m.done:
			return
		case <-m.empty:
		case <-timer.C:
		}
		next := idle
		if left := m.removeDue(); left > 0 {
			next = left
		}
		timer.Reset(next)
	}
}

// removeDue tries what is due and returns how long until the next try; 0 when nothing is left.
func (m *Manager) removeDue() (next time.Duration) {
	m.mu.Lock()
	work := m.leaving
	m.leaving, m.taken = nil, len(work)
	m.mu.Unlock()
	var left []*removal
	now := time.Now()
	for _, r := range work {
		if r.due.After(now) || !m.removeOne(r) {
			left = append(left, r)
			if wait := max(time.Until(r.due), pause); next == 0 || wait < next {
				next = wait
			}
		}
	}
	m.mu.Lock()
	m.leaving, m.taken = append(m.leaving, left...), 0
	m.mu.Unlock()
	return next
}

func (r *removal) close() {
	for _, f := range r.files {
		f.Close() // a descriptor that only names a kernel file has nothing to tell
	}
	r.files = nil
}

// removeOne tries once; it reports whether the group is gone.
func (m *Manager) removeOne(r *removal) bool {
	r.close()
	late := time.Since(r.since) > killAfter
	var errs []error
	r.dirs = slices.DeleteFunc(r.dirs, func(d dir) bool {
		if late {
			errs = append(errs, d.kill(time.Now()))
		}
		err := m.discard(d)
		errs = append(errs, err)
		return err == nil
	})
	if len(r.dirs) == 0 {
		return true
	}
	if late && !r.told {
		r.told = true
		m.log.Warn("a cgroup cannot be removed yet", "error", join(errs...))
	}
	r.wait = min(2*r.wait, time.Second)
	r.due = time.Now().Add(r.wait)
	return false
}

// discard removes one empty directory.
func (m *Manager) discard(d dir) error {
	if m.standIn != nil {
		return os.RemoveAll(d.path(""))
	}
	return d.rmdir()
}

// Close kills what is left in the instance's directories, removes them and gives up the locks. It waits at most about
// five seconds; the error names what stays behind, which the next Open's sweep will try again.
func (m *Manager) Close() error {
	m.life.Lock()
	defer m.life.Unlock()
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	ready := m.ready
	m.ready = nil
	m.mu.Unlock()
	close(m.done)
	m.workers.Wait()
	for _, groups := range ready {
		for _, g := range groups {
			g.Release()
		}
	}
	m.mu.Lock()
	left := m.leaving
	m.leaving = nil
	m.mu.Unlock()
	for _, r := range left {
		m.removeOne(r)
	}
	return m.removeInstances()
}

func (m *Manager) removeInstances() error {
	var errs []error
	deadline := time.Now().Add(closeWait)
	for _, d := range m.instances() {
		if m.standIn != nil {
			errs = append(errs, os.RemoveAll(d.root.Name()))
		} else {
			errs = append(errs, removeTree(d, deadline))
		}
		errs = append(errs, d.root.Close())
	}
	if err := join(errs...); err != nil {
		return fmt.Errorf("close cgroups: %w", err)
	}
	return nil
}
