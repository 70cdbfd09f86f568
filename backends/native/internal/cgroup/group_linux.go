package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// killWait bounds [Group.Kill].
const killWait = 2 * time.Second

// Group is one call's place in every hierarchy that its limits need. It is for one call and one goroutine, save Kill and
// Release, which any may call.
type Group struct {
	m      *Manager
	limits Limits
	spots  []spot
	procs  []*os.File
	into   *os.File // the directory on v2
	cpu    *os.File
	oom    *os.File
	once   sync.Once
}

// spot is a group's directory in one hierarchy.
type spot struct {
	h *hierarchy
	d dir
}

// make makes a group.
func (m *Manager) make(l Limits) (*Group, error) {
	found, number := m.snapshot()
	g := &Group{m: m, limits: l}
	for _, h := range found {
		if !h.needed(l) {
			continue
		}
		d, set, err := m.place(h, l, number)
		if err == nil {
			g.spots = append(g.spots, spot{h, d})
			err = g.furnish(h, d, set)
		}
		if err == nil && m.once == nil { // a command waits for the making of its group, too
			g.keepOpen(&g.spots[len(g.spots)-1])
		}
		if err != nil {
			g.Release()
			return nil, fmt.Errorf("make cgroup: %w", err)
		}
	}
	return g, nil
}

// keepOpen opens what Usage will read, while nobody waits for it.
func (g *Group) keepOpen(s *spot) {
	for _, c := range s.h.controllers {
		if g.limits.wants(c.name) {
			s.d.keep(c.reads...)
		}
	}
}

func (m *Manager) snapshot() (found []*hierarchy, number int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number++
	return m.found, m.number
}

// place returns a fresh directory for a group in a hierarchy, and whether its limits are set already.
func (m *Manager) place(h *hierarchy, l Limits, number int) (d dir, set bool, err error) {
	if d, set, ok := m.takeFirst(h, l); ok {
		return d, set, nil
	}
	d, err = m.another(h, number)
	return d, false, err
}

// makeCall makes call-N. A name that exists belongs to somebody else and is passed over.
func (m *Manager) makeCall(h *hierarchy, number int) (dir, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("call-%d", number)
		if i > 0 {
			name = fmt.Sprintf("call-%d-%d", number, i)
		}
		d := h.inst.sub(name)
		if err := m.mkdir(d); !errors.Is(err, fs.ErrExist) || i == attempts {
			return d, err
		}
	}
}

// furnish sets a new directory's limits, unless that is done, and opens its files.
func (g *Group) furnish(h *hierarchy, d dir, set bool) error {
	if !set {
		if err := h.set(d, g.limits); err != nil {
			return err
		}
	}
	procs, err := d.open(joinFile(h), unix.O_WRONLY)
	if err != nil {
		return err
	}
	if !h.v2 {
		g.procs = append(g.procs, procs)
	} else {
		g.procs = slices.Insert(g.procs, 0, procs)
		if err := g.offer(d); err != nil {
			return err
		}
	}
	if h.has(CPUAcct) {
		if g.cpu, err = d.open(cpuFile(h), unix.O_RDONLY); err != nil {
			return err
		}
	}
	if !h.has(Memory) || g.limits.MemoryBytes == 0 {
		return nil
	}
	if err := h.noSwap(d, g.m.source); err != nil {
		return err
	}
	if !h.v2 {
		g.oom, err = oomEvent(d)
	}
	return err
}

// offer opens the group's directory for who forks into it, and gives it the right to do so.
func (g *Group) offer(d dir) (err error) {
	g.m.give(d)
	g.into, err = d.open(".", unix.O_PATH|unix.O_DIRECTORY)
	return err
}

// give lets [Config.Forker] start processes in a directory. Where it may not be given, or the kernel cannot, a process that
// is to be born there fails, and joins by Procs.
func (m *Manager) give(d dir) {
	if m.forker == 0 {
		return
	}
	if err := d.chown("cgroup.procs", m.forker); err != nil {
		m.log.Debug("no process can be born in a cgroup", "error", err)
	}
}

// joinFile is the file by which a process of a single thread joins a group; see "Joining" in the package comment. On v2 a
// thread cannot leave its process's group alone.
func joinFile(h *hierarchy) string {
	if h.v2 {
		return "cgroup.procs"
	}
	return "tasks"
}

func cpuFile(h *hierarchy) string {
	if h.v2 {
		return cpuStat
	}
	return "cpuacct.usage"
}

// rewrite gives an unused group other limits of the same kind.
func (g *Group) rewrite(l Limits) error {
	if g.limits == l {
		return nil
	}
	for _, s := range g.spots {
		if err := s.h.set(s.d, l); err != nil {
			return err
		}
	}
	g.limits = l
	return nil
}

// Limits returns what the group was made with.
func (g *Group) Limits() Limits { return g.limits }

// Procs returns one descriptor, open for writing, for every hierarchy in use. A process of one thread that writes "0" to all
// of them is in the group. They are closed by Release.
func (g *Group) Procs() []*os.File { return g.procs }

// Into returns the group's directory on v2, in which a process can be born (clone3(2), CLONE_INTO_CGROUP, Linux 5.7); nil
// without v2. The first descriptor of Procs is then that of v2, which such a process need not write to. It is closed by
// Release.
func (g *Group) Into() *os.File { return g.into }

// CPUUsage returns a descriptor that tells the group's CPU time; read it with pread at offset 0. On v1 it is
// cpuacct.usage, nanoseconds as a decimal number; on v2 cpu.stat, with a line "usage_usec N". nil when
// Controller("cpuacct") returns an error. It is closed by Release.
func (g *Group) CPUUsage() *os.File { return g.cpu }

// CPUFormat reports how to read [Group.CPUUsage]: true for v2's cpu.stat, false for v1's cpuacct.usage.
func (g *Group) CPUFormat() (v2 bool) {
	for _, s := range g.spots {
		if s.h.has(CPUAcct) {
			return s.h.v2
		}
	}
	return false
}

// OOMEvent returns a blocking eventfd that becomes readable when memory runs out (v1). Poll it before reading. nil on v2,
// where the kernel kills the whole group, and without a memory limit. It is closed by Release.
func (g *Group) OOMEvent() *os.File { return g.oom }

// Usage reads what the group used. It has to be called before Release.
func (g *Group) Usage() (Usage, error) {
	var u Usage
	for _, s := range g.spots {
		for _, c := range s.h.controllers {
			if !g.limits.wants(c.name) {
				continue
			}
			if err := c.read(s.d, &u); err != nil {
				return Usage{}, fmt.Errorf("cgroup usage: %w", err)
			}
		}
	}
	return u, nil
}

// Kill kills every process in the group and waits until it is empty, at most two seconds. It is the last line: on v1 a
// tree that forks faster than the list can be read may outrun it, so kill the pid namespace's first process before.
func (g *Group) Kill() error {
	var errs []error
	deadline := time.Now().Add(killWait)
	for _, s := range g.spots {
		errs = append(errs, s.d.kill(deadline))
	}
	if err := join(errs...); err != nil {
		return fmt.Errorf("cgroup kill: %w", err)
	}
	return nil
}

// Release gives the group back: in the background its descriptors are closed and its directories removed, after a second
// by killing what is still in there; of a manager for one call they are removed by Close. A second Release does nothing.
func (g *Group) Release() { g.once.Do(func() { g.m.leave(g) }) }

func (g *Group) files() []*os.File {
	files := slices.Clone(g.procs)
	for _, f := range []*os.File{g.into, g.cpu, g.oom} {
		if f != nil {
			files = append(files, f)
		}
	}
	for _, s := range g.spots {
		files = slices.AppendSeq(files, maps.Values(s.d.kept))
	}
	return files
}
