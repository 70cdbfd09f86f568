package native

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/sandbox"
)

// Backend is the native backend. It holds a spawner and cgroups between calls; each call's sandbox is its own.
type Backend struct {
	config Config
	log    *slog.Logger
	lanes  *lanes
	ids    *idBlock // nil for an ordinary user
	// cgroups is nil when no limit can be set; cgroupErr then says why.
	cgroups   *cgroup.Manager
	cgroupErr error
	// cgroupsSettled says that the two above stay as they are; else only the first spawner's place decides about them.
	cgroupsSettled bool
	// cgroupsOpen is closed when the three above have been set.
	cgroupsOpen chan struct{}
	// memfdNoexec says that the spawners' namespaces have no executable memfds.
	memfdNoexec bool
	// startErr is why there is no first spawner. It and memfdNoexec are valid from when spawnerUp is closed.
	startErr  error
	spawnerUp chan struct{}

	userNS   userNSCache
	shapes   shapeCache
	kernel   kernelCache
	filters  filterCache
	hard     hardLimits
	images   imageCache
	places   placesCache
	reports  reports
	armory   *armory
	trials   trials
	compiled compiledHooks
	// sparesUsed counts the calls in namespaces that were made ahead.
	sparesUsed atomic.Int64
	// born and joined say that a call's init was born in its cgroup, or could not be.
	born, joined atomic.Bool
	calls        inflight.Calls
}

var _ sandbox.Backend = (*Backend)(nil)

// Open starts the backend: it finds the spawner's program, chooses the identities that sandboxes run under, finds out
// what the host's cgroups allow and starts the first spawner. Its errors match [sandbox.ErrUnavailable].
func Open(ctx context.Context, c Config) (sandbox.Backend, error) {
	b := &Backend{config: c, log: c.Logger, cgroupsOpen: make(chan struct{}), spawnerUp: make(chan struct{})}
	b.armory = newArmory(b)
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if err := b.open(ctx); err != nil {
		b.release()
		return nil, err
	}
	for _, w := range c.Waivers {
		b.log.Error("a guarantee is waived", "guarantee", w.Guarantee, "reason", w.Reason)
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unavailable("open native", err, "")
	}
	for _, w := range b.config.Waivers {
		if !w.Guarantee.Valid() {
			return sandbox.Invalid("open native", "waiver of %q, which is no guarantee", string(w.Guarantee))
		}
	}
	id, err := b.chooseIdentity()
	if err != nil {
		return err
	}
	status, err := ownStatus()
	if err != nil {
		return err
	}
	id.spare = b.config.NamespacesAhead
	b.lanes = &lanes{id: id, place: b.placeSpawner, log: b.log}
	if b.config.Direct {
		return b.openDirect(ctx, status)
	}
	go b.openCgroups()
	return b.openLanes(ctx)
}

// openDirect prepares this process for making its calls itself.
func (b *Backend) openDirect(ctx context.Context, status []byte) error {
	b.openCgroups()
	if b.cgroups == nil || b.cgroupsSettled {
		var err error
		if b.lanes.direct, err = newDirect(b.lanes.id, status); err != nil {
			close(b.spawnerUp)
			return err
		}
	}
	if b.lanes.direct == nil {
		return b.openLanes(ctx)
	}
	b.memfdNoexec = b.lanes.direct.noexecMemfds()
	close(b.spawnerUp)
	return nil
}

// openLanes starts the first spawner. Its start waits for another process; meanwhile the host is looked at: the cgroups,
// which a new spawner is put into, and the image, whose errors are the calls' business.
func (b *Backend) openLanes(ctx context.Context) error {
	program, err := openSpawner(b.config.Spawner)
	if err != nil {
		close(b.spawnerUp)
	}
	if own := (*sandbox.Error)(nil); errors.As(err, &own) {
		return err
	}
	if err != nil {
		return unavailable("find the spawner", err, "set the spawner's path, put "+spawnerName+" beside this program, or call spawner.Main first thing in main")
	}
	b.lanes.program = program
	go func() { _, _ = b.images.get(imageHost, b.config) }()
	if b.config.Lazy {
		go b.startSpawner(ctx) // the one call says what came of it
		return nil
	}
	b.startSpawner(ctx)
	return b.startErr
}

func (b *Backend) startSpawner(ctx context.Context) {
	defer close(b.spawnerUp)
	l, err := b.lanes.pick(ctx)
	if err != nil {
		b.startErr = err
		return
	}
	b.memfdNoexec = l.memfdNoexec
}

// awaitSpawner waits for the first spawner and returns why there is none.
func (b *Backend) awaitSpawner() error {
	<-b.spawnerUp
	return b.startErr
}

// awaitCgroups waits until it is known what the cgroups can do, for which some need a spawner.
func (b *Backend) awaitCgroups() error {
	<-b.cgroupsOpen
	if b.cgroupsSettled {
		return nil
	}
	return b.awaitSpawner()
}

func (b *Backend) openCgroups() {
	defer close(b.cgroupsOpen)
	c := cgroup.Config{Parent: b.config.CgroupParent, Once: b.config.Once, Logger: b.log}
	if b.ids != nil {
		c.Forker = b.ids.base
	}
	b.cgroups, b.cgroupErr = cgroup.Open(c)
	b.cgroupsSettled = b.cgroups != nil && !b.cgroups.NeedsSpawner()
}

// chooseIdentity takes a block of host ids for a root caller. Any other caller has its own id only.
func (b *Backend) chooseIdentity() (identity, error) {
	if os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid() {
		return identity{}, unavailable("open native", errors.New("the effective ids differ from the real ones"), "do not run this setuid or setgid")
	}
	if os.Geteuid() != 0 {
		return identity{base: uint32(os.Geteuid()), count: 1}, nil
	}
	block, err := takeBlock(b.config.StateDir, b.config.IDBase, b.config.IDCount)
	if err != nil {
		return identity{}, err
	}
	b.ids = block
	return identity{base: block.base, count: blockSize, root: true}, nil
}

// placeSpawner puts a new spawner where its calls' cgroups can be reached from. Without cgroups there is nothing to do:
// the report says what is absent, and a call that requires it is refused.
func (b *Backend) placeSpawner(pid int) error {
	<-b.cgroupsOpen
	if b.cgroups == nil {
		return nil
	}
	err := b.cgroups.PlaceSpawner(pid)
	if err == nil {
		return nil
	}
	if b.cgroupsSettled || b.started() { // otherwise calls wait for this spawner, and read what is written below after it
		return unavailable("place the spawner", err, cgroupFix(err))
	}
	b.log.Warn("cgroups are not available", "error", err)
	b.cgroupErr = err
	_ = b.cgroups.Close()
	b.cgroups = nil
	return nil
}

// started reports whether the first spawner's start has ended. Calls read the cgroups from then on.
func (b *Backend) started() bool {
	select {
	case <-b.spawnerUp:
		return true
	default:
		return false
	}
}

// Name returns "native".
func (b *Backend) Name() string { return Name }

// Prepare resolves the profile's image and interpreters and has cgroups made ahead for its limits.
func (b *Backend) Prepare(ctx context.Context, p sandbox.ContainerProfile) error {
	ctx, _, leave, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p = p.WithDefaults()
	if err := p.Validate(); err != nil {
		return err
	}
	if _, err := b.images.get(p.Image, b.config); err != nil {
		return err
	}
	if _, err := resolveInterpreters(p.Interpreters, b.config.Protected); err != nil {
		return err
	}
	if err := b.awaitSpawner(); err != nil {
		return err
	}
	if b.cgroups == nil {
		return ctx.Err()
	}
	return b.cgroups.Prepare(cgroupLimits(p))
}

// Close kills what runs, waits for it, and gives back the spawners, the cgroups and the ids.
func (b *Backend) Close() error {
	if !b.calls.Close() {
		return nil
	}
	return b.release()
}

func (b *Backend) release() error {
	b.armory.close()
	var err error
	if b.lanes != nil {
		err = b.releaseLanes()
	}
	b.userNS.close()
	b.shapes.close()
	if b.ids != nil {
		b.ids.close()
	}
	return err
}

// releaseLanes ends the spawners and gives up the cgroups, at the same time unless the spawners live in them.
func (b *Backend) releaseLanes() error {
	<-b.cgroupsOpen
	<-b.spawnerUp
	if b.cgroups == nil {
		b.lanes.close()
		return nil
	}
	if !b.cgroupsSettled {
		b.lanes.close()
		return b.cgroups.Close()
	}
	var ending sync.WaitGroup
	ending.Go(b.lanes.close)
	err := b.cgroups.Close()
	ending.Wait()
	return err
}

// enter registers a call, so that Close can end it, and returns what takes it out again. A call has an id for requests.
func (b *Backend) enter(ctx context.Context) (context.Context, uint64, func(), error) {
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	return ctx, b.lanes.newID(), leave, nil
}

func cgroupLimits(p sandbox.ContainerProfile) cgroup.Limits {
	return cgroup.Limits{MemoryBytes: int64(p.Limits.MemoryMB) << 20, PIDs: min(int64(p.PIDs)+initProcesses, maxPIDs), CPUs: p.Limits.CPUs}
}

// maxPIDs is the most that pids.max takes: PID_MAX_LIMIT of a 64-bit kernel.
const maxPIDs = 1 << 22

// initProcesses is the sandbox's own process in its cgroup, which is not the program's.
const initProcesses = 1
