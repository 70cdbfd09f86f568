package native

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/backends/native/internal/ahead"
	"github.com/soulacy/toolcell/backends/native/internal/cgroup"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
	"github.com/soulacy/toolcell/sandbox"
)

// armed is a call whose sandbox is built, confined and waiting before there is a program for it.
type armed struct {
	kind kind
	// replies is where the sandbox's end is told. It is nil until the request for it is made.
	replies <-chan message
	since   time.Time
	// hook is the way to the interpreter that waits inside; nil when none does.
	hook *hook
	// spent is what the cgroup had counted when it stood ready.
	spent cgroup.Usage
	// image and sources are what was shown when it was built, to be compared with what a call would be shown.
	image   *rootfs.Image
	sources []sourceID
	// program is the interpreter that was started, where this machine's own programs are shown.
	program programID
}

// kind is what all sandboxes that are alike have in common: everything that is settled when one is built.
type kind struct {
	profile sandbox.ContainerProfile
	dir     string
	input   bool
	// start is the interpreter that waits inside; nil is none.
	start *ahead.Start
}

// kindOf is the kind of sandbox that a call takes. What a profile says about the call alone is left out of it.
func kindOf(p sandbox.ContainerProfile, c sandbox.Command) kind {
	dir := p.Workdir
	if c.Dir != "" {
		dir = c.Dir
	}
	return kind{profile: built(p), dir: dir, input: c.Stdin != nil}
}

// settled reports whether the directory that programs start in is the same one for every call of a kind. One in a mount
// can be replaced at any time, while a sandbox that waits stays where it is.
func (d kind) settled() bool {
	mounts, err := d.profile.AllMounts()
	return err == nil && !slices.ContainsFunc(mounts, func(m sandbox.Mount) bool { return strings.HasPrefix(d.dir, m.Target+"/") })
}

// built is the part of a profile that a sandbox is built by. What is required is checked for each call.
func built(p sandbox.ContainerProfile) sandbox.ContainerProfile {
	p.Env, p.Require, p.Workdir = nil, nil, ""
	p.Limits.Wall, p.Limits.OutputKB = 0, 0
	return p
}

func (d kind) is(other kind) bool {
	return d.dir == other.dir && d.input == other.input && d.start.Same(other.start) && sameProfile(d.profile, other.profile)
}

// sameProfile compares the mounts first, by which profiles of single calls differ.
func sameProfile(x, y sandbox.ContainerProfile) bool {
	return slices.Equal(x.Binds, y.Binds) && reflect.DeepEqual(x, y)
}

// sourceID is what a mount's source was when it was looked at.
type sourceID struct {
	path         string
	major, minor uint32
	inode        uint64
	uid, gid     uint32
}

func (s *source) id() sourceID {
	return sourceID{path: s.path, major: s.stat.Dev_major, minor: s.stat.Dev_minor, inode: s.stat.Ino, uid: s.stat.Uid, gid: s.stat.Gid}
}

func sourceIDs(list []*source) []sourceID {
	var out []sourceID
	for _, s := range list {
		out = append(out, s.id())
	}
	return out
}

// received is how many descriptors an armed sandbox takes beyond those it has, which the limit on open files must allow.
const received = 16

// arm builds a sandbox and returns it when it stands ready.
func (b *Backend) arm(ctx context.Context, d kind) (*call, error) {
	p := d.profile.WithDefaults()
	p.Workdir = d.dir
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Limits.OpenFiles < received {
		return nil, &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: "arm", Guarantee: sandbox.LimitFiles,
			Cause: errors.New("it leaves no room for what is handed over"), Fix: fmt.Sprintf("allow at least %d open files", received),
		}
	}
	k := &call{b: b, id: b.lanes.newID(), profile: p, armed: &armed{kind: d}}
	if err := k.do(k.findImage, k.judge, k.openMounts); err != nil {
		return nil, err
	}
	k.armed.image, k.armed.sources = k.image, sourceIDs(k.sources)
	if err := k.do(func() error { return k.takeIdentity(ctx) }, k.takeGroup, k.openAhead, func() error { return k.takeRunner(ctx) }, k.compile, k.sealAhead); err != nil {
		return nil, err
	}
	if err := k.standReady(ctx); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// standReady has the sandbox built, and waits for that.
func (k *call) standReady(ctx context.Context) error {
	if k.lane() == nil {
		return k.setup("arm", errors.New("no spawner makes this process's calls"))
	}
	replies, err := k.lane().start(k)
	if err != nil {
		return err
	}
	k.armed.replies = replies
	k.sent()
	m, err := k.awaitArmed(ctx)
	if err != nil {
		return err
	}
	if m.reply.Kind != wire.ReplyArmed {
		if m.reply.Kind == wire.ReplyDone {
			k.ended(m)
		}
		return k.endedEarly(m.reply)
	}
	k.armed.since = time.Now()
	k.armed.spent, err = k.usage()
	return err
}

func (k *call) awaitArmed(ctx context.Context) (message, error) {
	stuck := time.NewTimer(k.b.lanes.grace())
	defer stuck.Stop()
	select {
	case <-k.armed.hook.waits():
		k.lane().rest(k.id)
		return message{reply: wire.Reply{Kind: wire.ReplyArmed}}, nil
	case m := <-k.armed.replies:
		if m.err != nil {
			k.ended(m)
		}
		return m, m.err
	case <-ctx.Done():
		return message{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "arm", Cause: fmt.Errorf("the context ended first: %w", context.Cause(ctx))}
	case <-stuck.C:
		return message{}, unavailable("arm", errors.New("the spawner did not answer in time"), "")
	}
}

// endedEarly explains a sandbox that ended before it stood ready.
func (k *call) endedEarly(r wire.Reply) error {
	if r.Faulted {
		return k.fault(r)
	}
	if k.armed.hook != nil && r.Exited {
		return k.doesNotWait(r)
	}
	var res sandbox.Result
	used, err := k.usage()
	if err == nil {
		err = k.classify(&res, ending{reply: r}, used)
	}
	if err == nil {
		err = k.setup("arm", fmt.Errorf("the sandbox ended (wait status %#x)", r.InitStatus))
	}
	return err
}

// alive reports whether a sandbox that stands ready still does. One that has ended has said so.
func (k *call) alive() bool {
	if k.armed.replies == nil {
		return false
	}
	select {
	case m := <-k.armed.replies:
		if m.err != nil || m.reply.Kind == wire.ReplyDone {
			k.ended(m)
		}
		return false
	default:
		return k.lane().alive()
	}
}

// ended takes the last word about a sandbox that got no program.
func (k *call) ended(m message) {
	k.over()
	k.lost = m.lost
	if m.file != nil {
		m.file.Close() // its mounts
	}
}

// end ends a sandbox whose end was not told yet, whether it stands ready or has a program.
func (k *call) end() {
	if k.armed == nil || k.armed.replies == nil {
		return
	}
	k.lane().kill(k.id)
	stuck := newSuspicion(0, k.b.lanes.grace())
	defer stuck.Stop()
	for {
		select {
		case m := <-k.armed.replies:
			switch {
			case m.err != nil, m.reply.Kind == wire.ReplyDone:
				k.ended(m)
				return
			case m.reply.Kind == wire.ReplyAlive:
				stuck.answered()
			}
		case <-stuck.C:
			stuck.late(k.lane(), k.id)
		}
	}
}

// over notes that nothing more is told about an armed sandbox.
func (k *call) over() {
	if k.armed != nil {
		k.armed.replies = nil
	}
}

// fits reports whether a call, looked at as far as its mounts, would be built as this sandbox was.
func (k *call) fits(c *call) bool {
	hard, err := k.b.hard.get()
	return err == nil && k.alive() && k.sameProgram() &&
		reflect.DeepEqual(k.armed.sources, sourceIDs(c.sources)) &&
		(k.armed.image == c.image || reflect.DeepEqual(k.armed.image, c.image)) &&
		reflect.DeepEqual(k.interpreters, c.interpreters) &&
		reflect.DeepEqual(k.spec.Kernel, c.spec.Kernel) &&
		k.reportedLimits() == c.reportedLimits() &&
		maps.Equal(k.spec.Limits.Hard, hard)
}

// sameProgram reports whether the interpreter that waits is still the one that a call would start.
func (k *call) sameProgram() bool {
	return k.armed.hook == nil || k.image.Name != imageHost || programFile(k.program.Paths) == k.armed.program
}

// adopt makes the sandbox the call's.
func (k *call) adopt(c *call) {
	k.profile, k.command, k.report = c.profile, c.command, c.report
	c.close()
}

// release makes ready what starts the program.
func (k *call) release() error {
	k.request = wire.Request{
		Kind: wire.RequestRelease, ID: k.id,
		Timeout: int64(k.timeout()), CPU: int64(k.profile.Limits.CPUSeconds) * 1e9,
	}
	if k.armed.hook != nil {
		return k.address()
	}
	if err := k.openPipes(); err != nil {
		return err
	}
	if err := k.sealProgram(); err != nil {
		return err
	}
	n := len(k.theirs)
	k.files = append(k.files[:0], k.theirs[n-2], k.sealed, k.theirs[n-1]) // in the order of confine.Received
	if k.stdin != nil {
		k.files = append(k.files, k.theirs[0])
	}
	return nil
}
