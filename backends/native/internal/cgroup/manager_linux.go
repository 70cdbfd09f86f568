package cgroup

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// defaultAhead is how many groups are kept ready; a burst beyond it makes its own.
const defaultAhead = 4

// closeWait bounds [Manager.Close].
const closeWait = 5 * time.Second

// Config configures a [Manager]. The zero value is the process's own cgroup.
type Config struct {
	// Parent is the directory, relative to each hierarchy's mount, below which the instance's directory is made. It has
	// to exist. "" means the process's own cgroup.
	Parent string
	// Ahead is how many groups of a kind are kept ready. 0 means 4, less than 0 none.
	Ahead int
	// Once says that the manager is for one group, as of a command: nothing is made ahead or in the background, the
	// group's own limits are the trial that Open would make (see [Manager.Expect]), and dead neighbours are removed while
	// the group is in use. A second group only costs more.
	Once bool
	// Forker is the user whose processes start others in the groups ([Group.Into]), where that is not this process's own: it
	// then gets the cgroup.procs files of the instance's directory and of the groups on v2. 0 is this process's own.
	Forker uint32
	// Logger receives what could not be removed. nil means silence.
	Logger *slog.Logger
	// Mounts says where to look instead of at the running process; for tests.
	Mounts Source

	// standIn fills a new directory in tests that have no kernel behind it.
	standIn func(path string) error
	// scopes takes systemd's place in tests.
	scopes scoper
}

// Manager makes groups. Its methods may be called from several goroutines.
type Manager struct {
	source  Source
	name    string // of the instance's directories
	log     *slog.Logger
	standIn func(string) error
	scopes  scoper
	ahead   int
	forker  uint32
	once    *first // nil unless Config.Once

	life sync.RWMutex // held for reading by whatever makes directories, for writing by Close
	move sync.Mutex   // serialises PlaceSpawner

	mu       sync.Mutex   // guards what follows
	found    []*hierarchy // replaced, never changed
	waiting  *hierarchy   // v2 without a directory until PlaceSpawner
	problems map[string]error
	closed   bool
	number   int
	ready    map[kind][]*Group
	latest   map[kind]Limits
	leaving  []*removal
	taken    int // removals that the worker is at

	fill, empty chan struct{} // wake the two workers
	done        chan struct{}
	workers     sync.WaitGroup
}

// Open finds the hierarchies, makes the instance's directory in each, tries every controller, and removes what dead
// instances left. It fails with an [*Error] when no limit at all can be set; single controllers that do not work are
// [Manager.Controller]'s to tell.
func Open(c Config) (*Manager, error) {
	seen, err := c.Mounts.discover()
	if err != nil {
		return nil, explain("open cgroups", "", err)
	}
	m := newManager(c)
	m.problems = seen.problems
	for _, h := range seen.found {
		if err := m.enter(h, c.Parent); err != nil {
			m.blame(h, err)
			continue
		}
		if h.inst.root == nil {
			m.await(h)
			continue
		}
		m.found = append(m.found, h)
		if m.once == nil {
			m.try(h)
		}
	}
	if err := m.usable(); err != nil {
		return nil, join(err, m.Close())
	}
	if m.once == nil {
		m.sweep()
		m.start()
	}
	return m, nil
}

func newManager(c Config) *Manager {
	m := &Manager{
		source: c.Mounts, name: newName(), log: c.Logger, standIn: c.standIn, scopes: c.scopes, ahead: c.Ahead, forker: c.Forker,
		ready: map[kind][]*Group{}, latest: map[kind]Limits{},
		fill: make(chan struct{}, 1), empty: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if m.ahead == 0 {
		m.ahead = defaultAhead
	}
	if c.Once {
		m.ahead, m.once = -1, new(first)
	}
	if m.scopes == nil {
		m.scopes = systemd{}
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// blame records why none of a hierarchy's controllers works.
func (m *Manager) blame(h *hierarchy, err error) {
	for _, c := range h.controllers {
		m.problem(c.name, explain("cgroup", c.name, err))
	}
}

// usable returns an error when there is no controller that limits anything. Controllers with one cause in common are
// named together.
func (m *Manager) usable() error {
	if m.waiting != nil {
		return nil
	}
	var causes []*Error
	for _, name := range []string{Memory, PIDs, CPU} {
		err := m.problems[name]
		if err == nil {
			return nil
		}
		causes = addCause(causes, name, err)
	}
	all := &Error{Op: "open cgroups"}
	var errs []error
	for _, c := range causes {
		errs = append(errs, c)
		if all.Fix == "" || all.Fix == fixMissing {
			all.Fix = c.Fix
		}
	}
	all.Cause = join(errs...)
	return all
}

// addCause adds a controller's problem to those with the same cause.
func addCause(causes []*Error, name string, err error) []*Error {
	found := &Error{Cause: err}
	errors.As(err, &found)
	for _, c := range causes {
		if c.Fix == found.Fix && c.Cause.Error() == found.Cause.Error() {
			c.Controller += ", " + name
			return causes
		}
	}
	return append(causes, &Error{Controller: name, Cause: found.Cause, Fix: found.Fix})
}

// enter makes the instance's directory in a hierarchy.
func (m *Manager) enter(h *hierarchy, parent string) error {
	if h.v2 {
		return m.enterV2(h, parent)
	}
	base, err := h.base(parent)
	if err != nil {
		return err
	}
	if h.inst, err = m.makeInstance(base, m.name); err != nil {
		return err
	}
	if h.has(Memory) && !m.alone(h) {
		return useHierarchy(h.inst)
	}
	return nil
}

// trial are the limits that [Open] sets to see whether they can be set. No process ever has them.
func trial() Limits { return Limits{MemoryBytes: 64 << 20, PIDs: 64, CPUs: 0.01} }

// try sets each controller's limit on a directory of its own and reads it back. A controller that fails is dropped.
func (m *Manager) try(h *hierarchy) {
	d := h.inst.sub("trial")
	if err := m.mkdir(d); err != nil {
		m.blame(h, err)
		h.controllers = nil
		return
	}
	m.tryAll(h, d, trial())
	if err := m.discard(d); err != nil {
		m.log.Warn("a cgroup directory stays behind", "error", err)
	}
}

// tryAll tries the controllers of a hierarchy on a directory and keeps those that work.
func (m *Manager) tryAll(h *hierarchy, d dir, l Limits) {
	var good []controller
	for _, c := range h.controllers {
		if err := m.tryOne(h, c, d, l); err != nil {
			m.problem(c.name, explain("cgroup", c.name, err))
			continue
		}
		good = append(good, c)
	}
	h.controllers = good
}

func (m *Manager) tryOne(h *hierarchy, c controller, d dir, l Limits) error {
	if err := c.set(d, l); err != nil {
		return err
	}
	if err := c.check(d, l); err != nil {
		return err
	}
	if c.name == Memory {
		if err := h.noSwap(d, m.source); err != nil {
			return err
		}
	}
	return c.read(d, new(Usage))
}

// Controller returns nil when limits of the named controller ([Memory], [PIDs], [CPU], [CPUAcct]) can be set, which was
// found by setting one; else an [*Error] with the cause and what would help.
func (m *Manager) Controller(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.problems[name]; err != nil {
		return err
	}
	if m.hierarchy(name) == nil {
		return &Error{Op: "cgroup", Controller: name, Cause: errors.New("unknown controller")}
	}
	return nil
}

// Mechanism names the files that keep the named controller's limit, for a report; "" when there are none.
func (m *Manager) Mechanism(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hierarchy(name)
	if h == nil {
		return ""
	}
	in, _ := split(h.controllers, []string{name})
	return in[0].files + " (" + h.version() + ")"
}

// hierarchy returns where a controller works, or nil.
func (m *Manager) hierarchy(name string) *hierarchy {
	for _, h := range m.found {
		if h.has(name) {
			return h
		}
	}
	return nil
}

// sweep removes dead neighbours. What it cannot remove does not hinder this instance.
func (m *Manager) sweep() {
	m.mu.Lock()
	found := m.found
	m.mu.Unlock()
	for _, h := range found {
		if h.scope {
			continue
		}
		removed, err := sweepDir(parentOf(h.inst))
		if len(removed) > 0 {
			m.log.Info("removed the cgroups of a dead instance", "directories", removed)
		}
		if err != nil {
			m.log.Warn("cgroups of a dead instance stay behind", "error", err)
		}
	}
}
