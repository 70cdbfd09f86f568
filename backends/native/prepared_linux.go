package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/confine"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// roots are the prepared roots of one lane ([confine.Root]): mount namespaces in which everything of a sandbox's root stands
// that calls can share. A call starts from a copy of one, which spares it the making and the letting go of the
// host's mounts. Calls that find none make their root themselves; the sandbox is the same.
type roots struct {
	mu   sync.Mutex
	list recent[*root]
}

// root is one of them.
type root struct {
	spec confine.Root
	// seen are the files that were bound, as they were when it was made.
	seen []fileID
	// mounts is the namespace, nil while there is none.
	mounts *os.File
	// asked is how many calls could have used it so far.
	asked int
}

const (
	// maxRoots bounds the roots of a lane.
	maxRoots = 16
	// rootAfter is which call of a kind has its root prepared: a kind of which there is one call is not worth it.
	rootAfter = 2
)

// fileID is what a path led to.
type fileID struct {
	major, minor uint32
	inode        uint64
}

// preparedRoot returns the mount namespace that the call can start from, or nil.
func (k *call) preparedRoot() *os.File {
	l := k.lane()
	if l == nil || !k.spec.Kernel.NewMountAPI || k.profile.Inotify { // which would tell of other calls' accesses
		return nil
	}
	want := confine.Root{Identity: k.spec.Identity, Image: k.image}
	for _, s := range k.sources {
		if s.tree == nil {
			return nil // it is opened by its path, in the copy of the host's mounts
		}
		want.AddTarget(s.mount.Target, s.file)
	}
	return l.roots.get(want, func(r *root) { go k.b.prepareRoot(l, r, want) })
}

// get returns the namespace of the root of a kind. prepare is called when one is to be made.
func (s *roots) get(want confine.Root, prepare func(*root)) *os.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(want)
	if r.asked++; r.asked == rootAfter {
		prepare(r)
	}
	if r.mounts == nil {
		return nil
	}
	if seen, err := boundFiles(want); err != nil || !reflect.DeepEqual(seen, r.seen) {
		s.drop(r) // a file was replaced, as by ldconfig(8)
		return nil
	}
	return r.mounts
}

// find returns the root of a kind, a new one if need be. The lock is held.
func (s *roots) find(want confine.Root) *root {
	r, ok := s.list.find(func(r *root) bool { return reflect.DeepEqual(r.spec, want) })
	if !ok {
		r = &root{}
		s.list.add(r, maxRoots)
	}
	r.spec = want // as in shapeCache
	return r
}

// drop forgets a root. A call may be on its way with it, so the file goes when nobody refers to it any more. The lock is
// held.
func (s *roots) drop(old *root) {
	s.list = slices.DeleteFunc(s.list, func(r *root) bool { return r == old })
}

// set gives a root its namespace, if it is still wanted.
func (s *roots) set(r *root, mounts *os.File, seen []fileID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.list, r) {
		mounts.Close()
		return
	}
	r.mounts, r.seen = mounts, seen
}

// close gives the namespaces back at once. No call may be under way.
func (s *roots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.mounts != nil {
			r.mounts.Close()
		}
	}
	s.list = nil
}

// boundFiles are the sources of a root's binds as they are now.
func boundFiles(r confine.Root) ([]fileID, error) {
	seen := make([]fileID, len(r.Image.Binds))
	for i, b := range r.Image.Binds {
		var st unix.Stat_t
		if err := unix.Lstat(b.Source, &st); err != nil {
			return nil, &os.PathError{Op: "lstat", Path: b.Source, Err: err}
		}
		seen[i] = fileID{major: unix.Major(st.Dev), minor: unix.Minor(st.Dev), inode: st.Ino}
	}
	return seen, nil
}

// prepareRoot has a lane prepare a root of a kind. Without one calls go on making theirs.
func (b *Backend) prepareRoot(l *lane, r *root, want confine.Root) {
	ctx, leave, err := b.calls.Enter(context.Background())
	if err != nil {
		return // the backend is being closed
	}
	defer leave()
	if err := b.makeRoot(ctx, l, r, want); err != nil && ctx.Err() == nil {
		b.log.Warn("a root could not be prepared: calls make theirs themselves", "error", err)
	}
}

func (b *Backend) makeRoot(ctx context.Context, l *lane, r *root, want confine.Root) error {
	seen, err := boundFiles(want)
	if err != nil {
		return err
	}
	p, err := confine.CompileRoot(want)
	if err != nil {
		return err
	}
	steps, err := sealPlan(p)
	if err != nil {
		return err
	}
	defer steps.Close()
	m, err := b.lanes.prepareRoot(ctx, l, steps)
	if err != nil {
		return err
	}
	if m.reply.Kind != wire.ReplyArmed || m.file == nil { // only who says that it is done has a root
		if m.file != nil {
			m.file.Close()
		}
		return notPrepared(p, m.reply)
	}
	l.roots.set(r, m.file, seen)
	return nil
}

// notPrepared explains a process that did not prepare its root.
func notPrepared(p *plan.Plan, r wire.Reply) error {
	step, ok := p.Step(int(r.Step))
	switch {
	case ok && r.Faulted && !r.BySpawner:
		return stepFault(step, r)
	case r.Faulted:
		return spawnerFault(r)
	case r.Kind == wire.ReplyArmed:
		return errors.New("the spawner has no mount namespace to give")
	default:
		return fmt.Errorf("what prepares it ended before it was done (wait status %#x)", r.InitStatus)
	}
}

// prepareRoot has a lane carry out the plan of a root, and returns its answer: a ReplyArmed with the namespace, or how
// it ended. The process that made the root is killed then, and its end is nobody's business; one that does not answer is
// given up: other calls of the lane are worth more.
func (s *lanes) prepareRoot(ctx context.Context, l *lane, steps *os.File) (message, error) {
	ctx, cancel := context.WithTimeout(ctx, s.grace())
	defer cancel()
	req := wire.Request{
		Kind: wire.RequestRun, ID: s.newID(), Flags: wire.FlagArmed | wire.FlagPrepare, Namespaces: confine.RootNamespaces,
	}
	ch, err := l.request(&req, []*os.File{steps, steps})
	if err != nil {
		return message{}, err
	}
	defer l.forget(req.ID, ch)
	defer l.kill(req.ID)
	return receive(ctx, ch)
}

// receive takes the next answer to a request.
func receive(ctx context.Context, ch <-chan message) (message, error) {
	select {
	case m := <-ch:
		return m, m.err
	case <-ctx.Done():
		return message{}, fmt.Errorf("no answer: %w", ctx.Err())
	}
}
