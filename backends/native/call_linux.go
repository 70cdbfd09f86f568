package native

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/seccomp"
)

// insideID is the user and group that a program has inside when the profile names none.
const insideID = 65532

// call is everything that one Run holds. Its close gives back whatever was taken, in any state.
type call struct {
	b       *Backend
	id      uint64
	profile sandbox.ContainerProfile
	command sandbox.Command
	report  sandbox.Report
	// offset is the sandbox's id in the block of a root caller; 0 for an ordinary user, whose sandboxes have its own.
	offset  uint32
	image   *rootfs.Image
	sources []*source
	// interpreters are the profile's own, outside the image.
	interpreters interpreters
	group        *cgroup.Group
	spec         confine.Spec
	program      plan.Program
	plan         *plan.Plan
	request      wire.Request
	// runner makes the call. spare says that the call took the namespaces that this one has ready, and did not use them yet.
	runner runner
	spare  bool
	// files go to who forks in this order; the first two are the plan, which calls share, and the program.
	files []*os.File
	// sealed is the program in memory, until it is sent.
	sealed *os.File
	// armed is what distinguishes a call whose sandbox is built ahead of it; nil for any other.
	armed *armed
	// theirs are the sandbox's ends of the pipes, closed once they are sent.
	theirs []*os.File
	stdin  *os.File
	// lost says that the call's end was not told, so its host id may still be in use.
	lost           bool
	stdout, stderr *capture
}

// prepare does everything that comes before the request: what it returns, only has to be sent. ahead is where a sandbox
// may stand ready for it; nil is nowhere.
func (b *Backend) prepare(ctx context.Context, k *call, ahead *armory) (*call, error) {
	if err := k.do(k.validate, k.judge, k.openMounts); err != nil {
		return nil, err
	}
	if ready := ahead.take(k); ready != nil {
		return ready, ready.do(ready.release)
	}
	return k, k.do(func() error { return k.takeIdentity(ctx) }, k.takeGroup, k.openPipes, func() error { return k.takeReadyRunner(ctx) }, k.compile, k.sealProgram)
}

// do takes steps one after the other. After a failure the call holds nothing.
func (k *call) do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			k.close()
			return err
		}
	}
	return nil
}

// validate refuses what cannot be meant, before anything is opened.
func (k *call) validate() error {
	if err := k.profile.Validate(); err != nil {
		return err
	}
	if err := k.command.ValidateFor(k.profile.Limits); err != nil {
		return err
	}
	return k.findImage()
}

// findImage finds the profile's image, and refuses what this backend does not have.
func (k *call) findImage() error {
	if k.profile.Network != sandbox.NetworkNone {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "network", Guarantee: sandbox.NetNone,
			Cause: fmt.Errorf("the native backend has no network %q", k.profile.Network), Fix: `use "none", or a container engine's backend with a network that the operator grants`,
		}
	}
	if k.profile.Runtime != "" {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "runtime", Cause: fmt.Errorf("the native backend has no runtime %q", k.profile.Runtime),
			Fix: "use a container engine's backend for it",
		}
	}
	var err error
	k.image, err = k.b.images.get(k.profile.Image, k.b.config)
	return err
}

// judge computes the report and refuses the call when something required is missing.
func (k *call) judge() error {
	err := k.b.awaitCgroups()
	if err != nil {
		return err
	}
	k.report, k.spec.Kernel, err = k.b.report(k.profile)
	if err != nil {
		return err
	}
	if err := k.report.Check("run", required(k.profile)); err != nil {
		return err
	}
	// What the profile itself requires, no waiver gives up.
	return k.report.WithoutWaivers().Check("run", k.profile.Require)
}

// openMounts opens and checks every source.
func (k *call) openMounts() error {
	mounts, err := k.profile.AllMounts()
	if err != nil {
		return err
	}
	if len(mounts) > plan.MaxFDs/2 {
		return sandbox.Invalid("mounts", "%d mounts, more than %d", len(mounts), plan.MaxFDs/2)
	}
	k.interpreters, err = resolveInterpreters(k.profile.Interpreters, k.b.config.Protected)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		s, err := openSource(k.b.places.get(), m, k.b.protected())
		if err != nil {
			return err
		}
		k.sources = append(k.sources, s)
	}
	for _, m := range append(slices.Clone(k.interpreters.mounts), k.imageMounts()...) {
		s, err := openPlace(m)
		if err != nil {
			return err
		}
		s.own = false // programs are read as anybody reads them
		k.sources = append(k.sources, s)
	}
	slices.SortStableFunc(k.sources, func(a, b *source) int { return strings.Compare(a.mount.Target, b.mount.Target) })
	if len(k.sources) > plan.MaxFDs/2 {
		return sandbox.Invalid("mounts", "%d mounts with the image's own parts, more than %d", len(k.sources), plan.MaxFDs/2)
	}
	return checkSubmounts(k.sources...)
}

// imageMounts turns the parts of an unpacked image into mounts, since its directory may be one that only the caller can
// reach. The host's own programs are reached by everybody.
func (k *call) imageMounts() []sandbox.Mount {
	if k.image.Name == imageHost {
		return nil
	}
	var out []sandbox.Mount
	for _, b := range k.image.Binds {
		out = append(out, sandbox.Mount{Source: b.Source, Target: b.Target, Exec: b.Exec, Recursive: b.Recursive})
	}
	bare := *k.image
	bare.Binds = nil
	k.image = &bare
	return out
}

// takeIdentity gives the sandbox of a root caller a host id that no other running one has, and clones the mounts for it.
func (k *call) takeIdentity(ctx context.Context) error {
	if k.b.ids == nil {
		return nil
	}
	var err error
	if k.offset, err = k.b.ids.take(); err != nil {
		return err
	}
	for _, s := range k.sources {
		m := idMap{uid: s.stat.Uid, gid: s.stat.Gid, outside: k.offset}
		with := func(use func(*os.File) error) error { return k.b.userNS.with(ctx, k.b.lanes, m, use) }
		if err := s.clone(with); err != nil {
			return err
		}
	}
	return nil
}

// takeReadyRunner decides who makes the call before it is compiled, since a root that is prepared is one runner's. While
// the first is still being started there is none, and the rest of the call's preparation need not wait for it.
func (k *call) takeReadyRunner(ctx context.Context) error {
	if !k.b.started() {
		return nil
	}
	return k.takeRunner(ctx)
}

// takeRunner decides who makes the call, unless that is decided.
func (k *call) takeRunner(ctx context.Context) error {
	if k.runner != nil {
		return nil
	}
	if err := k.b.awaitSpawner(); err != nil {
		return err
	}
	var err error
	if k.runner, err = k.b.lanes.runner(ctx); err != nil {
		return err
	}
	if k.b.memfdNoexec && !k.runner.noexecMemfds() {
		return otherMemfds()
	}
	return nil
}

// lane is the spawner that makes the call; nil while there is none, and when this process makes it itself.
func (k *call) lane() *lane {
	l, _ := k.runner.(*lane)
	return l
}

func (k *call) takeGroup() error {
	limits := k.reportedLimits()
	if k.b.cgroups == nil {
		if limits != (cgroup.Limits{}) {
			return k.setup("make the call's cgroup", k.b.cgroupErr)
		}
		return nil
	}
	var err error
	if k.group, err = k.b.cgroups.Acquire(limits); err != nil {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "make the call's cgroup", Guarantee: limitOf(err), Cause: err}
	}
	return nil
}

// reportedLimits are those that the report promises, whatever the controllers do by now. The others were waived, or the
// call would have been refused.
func (k *call) reportedLimits() cgroup.Limits {
	limits := cgroupLimits(k.profile)
	if !k.report.Enforced(sandbox.LimitMemory) {
		limits.MemoryBytes = 0
	}
	if !k.report.Enforced(sandbox.LimitProcesses) {
		limits.PIDs = 0
	}
	if !k.report.Enforced(sandbox.LimitCPU) {
		limits.CPUs = 0
	}
	return limits
}

func (k *call) openPipes() error {
	var owner *uint32
	if k.b.ids != nil {
		id := k.b.ids.base + k.offset
		owner = &id
	}
	if k.command.Stdin != nil {
		ours, theirs, err := pipe(writeEnd, readEnd, owner)
		if err != nil {
			return k.setup("make the program's input", err)
		}
		k.stdin, k.theirs = ours, append(k.theirs, theirs)
	}
	for _, s := range []struct {
		to  **capture
		tap io.Writer
	}{{&k.stdout, k.command.Stdout}, {&k.stderr, k.command.Stderr}} {
		ours, theirs, err := pipe(readEnd, writeEnd, owner)
		if err != nil {
			return k.setup("make the program's output", err)
		}
		*s.to, k.theirs = newCapture(ours, k.profile.Limits.OutputKB<<10, s.tap), append(k.theirs, theirs)
	}
	return nil
}

func (k *call) setup(op string, err error) error {
	return &sandbox.Error{Kind: sandbox.KindSetup, Op: op, Cause: err}
}

// compile fills in the specification, compiles it and puts the request together.
func (k *call) compile() error {
	if err := k.specify(); err != nil {
		return err
	}
	shape, err := k.b.shapes.get(k.spec)
	if err != nil {
		return k.setup("compile the plan", err)
	}
	k.plan, k.files[0] = shape.plan, shape.file
	return nil
}

// specify decides where each descriptor goes: the plan, what is kept to watch the call, then what the plan itself uses.
func (k *call) specify() error {
	user, err := sandbox.ParseUser(k.profile.User)
	if err != nil {
		return err
	}
	if len(k.profile.Interpreters) > 0 {
		k.image = k.interpreters.addTo(k.image)
	}
	if k.armed != nil && k.armed.kind.start != nil {
		k.image = withHook(k.image, k.armed.kind.start)
	}
	if user.Auto {
		user.UID, user.GID = insideID, insideID
	}
	s := &k.spec
	s.Identity = rootfs.Identity{UID: user.UID, GID: user.GID, Hostname: wire.Hostname}
	s.DropGroups, s.Image, s.Hostname = k.b.ids != nil, k.image, wire.Hostname
	s.Scratch = confine.Scratch{TmpBytes: int64(k.profile.TmpfsMB) << 20, ShmBytes: int64(k.profile.ShmMB) << 20, Exec: k.profile.ScratchExec}
	s.Limits = confine.Limits{OpenFiles: uint64(k.profile.Limits.OpenFiles), FileBytes: uint64(k.profile.Limits.FileSizeMB) << 20}
	if s.Limits.Hard, err = k.b.hard.get(); err != nil {
		return k.setup("read the hard limits", err)
	}
	s.Dir = k.profile.Workdir
	if k.command.Dir != "" {
		s.Dir = k.command.Dir
	}
	if s.Seccomp, err = k.b.filters.get(seccomp.Options{Inotify: k.profile.Inotify}); err != nil {
		return err
	}
	uid, gid := k.b.lanes.outside(k.offset)
	k.request = wire.Request{
		Kind: wire.RequestRun, ID: k.id, Namespaces: confine.Namespaces,
		InsideUID: user.UID, InsideGID: user.GID, OutsideUID: uid, OutsideGID: gid,
		Timeout: int64(k.timeout()), CPU: int64(k.profile.Limits.CPUSeconds) * 1e9,
	}
	if k.mayHoldMounts() {
		k.request.Flags |= wire.FlagHoldMounts
	}
	if k.armed != nil {
		s.Armed = k.armed.kind.start == nil
		k.request.Flags |= wire.FlagArmed
	}
	k.takeSpare()
	k.placeFiles()
	if d := k.b.lanes.direct; d != nil {
		k.direct(d)
	}
	return nil
}

// sent closes what the sandbox now has itself.
func (k *call) sent() {
	for _, f := range k.theirs {
		f.Close()
	}
	k.theirs = nil
	k.hook().sent()
	if k.sealed != nil {
		k.sealed.Close()
		k.sealed = nil
	}
	for _, s := range k.sources {
		s.close()
	}
	k.sources = nil
}

// close ends what is left of the call and gives back what it holds.
func (k *call) close() {
	k.giveSpare(false)
	k.end()
	k.sent()
	k.hook().close()
	if k.stdin != nil {
		k.stdin.Close()
	}
	for _, c := range []*capture{k.stdout, k.stderr} {
		if c != nil {
			c.r.Close()
		}
	}
	if k.group != nil {
		k.group.Release()
	}
	if k.b.ids != nil && k.offset != 0 && !k.lost {
		k.b.ids.give(k.offset)
	}
}

// newCallID makes an id for a call without one.
func newCallID() string { return strings.ToLower(rand.Text()[:12]) }
