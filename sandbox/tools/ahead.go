package tools

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

const (
	// maxSorts is of how many sorts of call something stands ready; the one used the longest time ago makes room.
	maxSorts = 16
	// aheadTimeout bounds what is made ready at a time, and aheadPause is how long nothing is after a failure.
	aheadTimeout = 20 * time.Second
	aheadPause   = 5 * time.Second
)

// Ahead has sandboxes stand ready for the calls that are likely to come, with the interpreter started inside where a tool
// has one: of each sort of call that was made or prepared, as many as its [Keep] says. Each is used by one call and
// replaced in the background; what is not used for a minute is given up until the next call of its sort. A call for which
// nothing stands ready is made as it would be without. A call's directories are removed after its answer; without Close some
// stay until a later process of the same user looks for them. A nil Ahead keeps nothing.
//
// Backends that are no [sandbox.Armer], and calls on the host, are left alone.
type Ahead struct {
	keep   Keep
	making context.Context // ends when Ahead is closed
	stop   context.CancelFunc

	mu     sync.Mutex
	closed bool
	sorts  []*sort
	swept  []string // the directories for temporary files that have been looked through
	// removing is how many calls' directories are being removed, failed what could not be.
	removing int
	failed   []error
	work     sync.WaitGroup
}

// sort is what calls have in common that the same sandbox can make.
type sort struct {
	backend sandbox.Armer
	// profile is what they run under, but for the directories of a single call.
	profile sandbox.ContainerProfile
	// arming says how they are started.
	arming sandbox.Arming
	// file is how the file of their code is called; "" says that they have no directories of their own. output says that
	// they have one for what they leave. temp is where these are.
	file   string
	output bool
	temp   string

	stages []*stage // those whose sandboxes stand ready
	wanted bool     // what has no directories was asked for
	making bool
	plain  bool // the interpreter cannot wait
	used   time.Time
	pause  time.Time
}

// Keep says what an [Ahead] keeps ready.
type Keep struct {
	// Count is how many sandboxes for each sort of call. 0 or less is none at all.
	Count int
	// Preload and Pin are as in [sandbox.Arming], for each Python that waits.
	Preload []string
	Pin     bool
}

// NewAhead returns an Ahead that keeps what it is told, and nil when that is nothing.
func NewAhead(k Keep) *Ahead {
	if k.Count <= 0 {
		return nil
	}
	a := &Ahead{keep: k}
	a.making, a.stop = context.WithCancel(context.Background())
	return a
}

// Close gives up what stands ready and waits until it is gone, and with it the directories of calls. It is called before the
// backends are closed. Its error says what could not be removed.
func (a *Ahead) Close() error {
	if a == nil {
		return nil
	}
	a.stop()
	a.mu.Lock()
	a.closed = true
	list := a.sorts
	a.sorts = nil
	a.mu.Unlock()
	a.work.Wait()
	errs := a.failed // nobody adds to it any more
	for _, s := range list {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// sortOf is the sort of a call: its command, and the file of its code. like holds of the command's environment what the
// tool itself sets.
func (t Tools) sortOf(p Place, like sandbox.Command, i sandbox.Interpreter, file string, output bool) *sort {
	if t.Ahead == nil || p.OnHost {
		return nil
	}
	armer, ok := p.Backend.(sandbox.Armer)
	if !ok {
		return nil
	}
	if like.Stdin != nil {
		like.Stdin = strings.NewReader("") // what counts is that there is one
	}
	like = sandbox.Command{Argv: like.Argv, Dir: like.Dir, Env: like.Env, Stdin: like.Stdin}
	p.Profile.Limits.Wall, p.Profile.Limits.OutputKB = 0, 0 // each call's own
	arming := sandbox.Arming{Count: 1, Once: true, Like: like, Interpreter: i}
	if i == sandbox.InterpreterPython {
		arming.Preload, arming.Pin = t.Ahead.keep.Preload, t.Ahead.keep.Pin
	}
	return &sort{
		backend: armer, profile: p.Profile, arming: arming,
		file: file, output: output, temp: t.TempDir,
	}
}

// like reports whether two sorts are the same. What is cheap to compare comes first.
func (s *sort) like(o *sort) bool {
	return s.backend == o.backend && s.file == o.file && s.output == o.output && s.temp == o.temp &&
		s.arming.Interpreter == o.arming.Interpreter && s.startsLike(o) &&
		slices.Equal(s.profile.Binds, o.profile.Binds) && reflect.DeepEqual(s.profile, o.profile)
}

// startsLike reports whether two sorts start alike. Without a directory of their own, and without an interpreter, the
// backend learns by itself how they differ.
func (s *sort) startsLike(o *sort) bool {
	x, y := s.arming.Like, o.arming.Like
	if s.file == "" && s.arming.Interpreter == sandbox.InterpreterNone {
		return true
	}
	return x.Dir == y.Dir && (x.Stdin == nil) == (y.Stdin == nil) &&
		(s.arming.Interpreter == sandbox.InterpreterNone || slices.Equal(x.Argv, y.Argv) && slices.Equal(x.Env, y.Env))
}

// find returns the sort that is like another, or nil. The lock is held.
func (a *Ahead) find(s *sort) *sort {
	i := slices.IndexFunc(a.sorts, s.like)
	if i < 0 {
		return nil
	}
	return a.sorts[i]
}

// stage returns the directories of a call: ready ones, whose sandbox waits, or new ones. What their end gives up is replaced
// for the next call of the sort; a nil sort has nothing ready.
func (t Tools) stage(tool Name, p Place, s *sort, file, code string) (*stage, error) {
	user, err := sandbox.ParseUser(p.Profile.User)
	if err != nil {
		return nil, err
	}
	st := t.Ahead.take(s)
	if st == nil {
		st, err = newStage(t.TempDir, file, code, user)
	} else if err = st.write(code); err != nil {
		err = errors.Join(err, st.end())
	}
	if err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindSetup, Op: string(tool), Cause: err}
	}
	st.ended = func() { t.Ahead.used(s) }
	if t.Ahead != nil && s != nil {
		st.later = t.Ahead.later
	}
	return st, nil
}

// maxRemoving bounds the directories that are removed in the background. Calls that come quicker than that wait for theirs.
const maxRemoving = 16

// later removes a call's directory in the background, unless that is to be done at once: since one could not be removed, each
// call says of its own whether it could. Close waits for it, and tells its error.
func (a *Ahead) later(remove func() error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.removing >= maxRemoving || len(a.failed) > 0 {
		return false
	}
	a.removing++
	a.work.Go(func() {
		err := remove()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.removing--
		if err != nil {
			a.failed = append(a.failed, err)
		}
	})
	return true
}

func (a *Ahead) take(s *sort) *stage {
	if a == nil || s == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	have := a.find(s)
	if have == nil || len(have.stages) == 0 {
		return nil
	}
	st := have.stages[0]
	have.stages = have.stages[1:]
	return st
}

// used has sandboxes made ready for the next calls of a sort.
func (a *Ahead) used(s *sort) {
	if a == nil || s == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	have := a.find(s)
	if have == nil {
		have = s
		a.makeRoom()
		a.sorts = append(a.sorts, s)
	}
	have.used = time.Now()
	if have.making || have.wanted || len(have.stages) >= a.keep.Count || time.Now().Before(have.pause) {
		return
	}
	have.making = true
	a.work.Go(func() { a.make(have) })
}

// make makes what a sort lacks, and what calls take meanwhile.
func (a *Ahead) make(s *sort) {
	for {
		err := a.fill(s)
		a.mu.Lock()
		if err != nil {
			s.pause = time.Now().Add(aheadPause)
		}
		s.making = err == nil && a.lacks(s)
		making := s.making
		a.mu.Unlock()
		if !making {
			return
		}
	}
}

// makeRoom gives up the sort that was used the longest time ago, when there are too many. The lock is held.
func (a *Ahead) makeRoom() {
	if len(a.sorts) < maxSorts {
		return
	}
	oldest := slices.MinFunc(a.sorts, func(x, y *sort) int { return x.used.Compare(y.used) })
	a.sorts = slices.DeleteFunc(a.sorts, func(s *sort) bool { return s == oldest })
	a.work.Go(func() { _ = oldest.close() }) // what cannot be removed stays in the directory for temporary files
	for _, s := range a.sorts {
		if s.file == "" && s.backend == oldest.backend && reflect.DeepEqual(s.profile, oldest.profile) {
			s.wanted = false // it was given up with the other, and is asked for again
		}
	}
}

// fill makes one sandbox ready, or all where calls have no directories of their own.
func (a *Ahead) fill(s *sort) error {
	ctx, cancel := context.WithTimeout(a.making, aheadTimeout)
	defer cancel()
	if s.file == "" {
		err := s.arm(ctx, s.profile, a.keep.Count, false)
		a.mu.Lock()
		s.wanted = err == nil // the backend replaces what is used
		isKept := a.closed || slices.Contains(a.sorts, s)
		a.mu.Unlock()
		if !isKept {
			return errors.Join(err, s.disarm(s.profile)) // it was given up meanwhile
		}
		return err
	}
	a.sweepOnce(s.temp)
	st, err := s.newStage(ctx)
	if err != nil {
		return err
	}
	if !a.put(s, st) {
		return st.end()
	}
	return nil
}

// sweepOnce removes the directories that a process left which was killed while sandboxes stood ready in it.
func (a *Ahead) sweepOnce(temp string) {
	a.mu.Lock()
	done := slices.Contains(a.swept, temp)
	if !done {
		a.swept = append(a.swept, temp)
	}
	a.mu.Unlock()
	if !done {
		sweep(temp)
	}
}

// lacks reports whether a sort is to get more. The lock is held.
func (a *Ahead) lacks(s *sort) bool {
	return slices.Contains(a.sorts, s) && s.file != "" && len(s.stages) < a.keep.Count
}

// put adds what is ready to its sort, unless that was given up meanwhile.
func (a *Ahead) put(s *sort, st *stage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.sorts, s) {
		return false
	}
	s.stages = append(s.stages, st)
	return true
}

// newStage makes directories for a call, and a sandbox that shows them.
func (s *sort) newStage(ctx context.Context) (*stage, error) {
	user, err := sandbox.ParseUser(s.profile.User)
	if err != nil {
		return nil, err
	}
	st, err := newStage(s.temp, s.file, "", user)
	if err != nil {
		return nil, err
	}
	p := s.profile
	p.Binds = append(slices.Clone(p.Binds), st.mounts(s.output, p.ScratchExec)...)
	if err := s.arm(ctx, p, 1, true); err != nil {
		return nil, errors.Join(err, st.remove())
	}
	// A call that differs in what is settled by now leaves the sandbox where it is.
	st.leave = func() error { return s.disarm(p) }
	return st, nil
}

// arm has sandboxes stand ready. An interpreter that cannot wait with what it was to preload waits without, and one that
// cannot wait at all is left out from then on.
func (s *sort) arm(ctx context.Context, p sandbox.ContainerProfile, count int, once bool) error {
	arming := s.arming
	arming.Count, arming.Once = count, once
	if s.plain {
		arming.Interpreter = sandbox.InterpreterNone
	}
	err := s.backend.Arm(ctx, p, arming)
	if arming.Interpreter == sandbox.InterpreterNone || ctx.Err() != nil || !errors.Is(err, sandbox.ErrInvalid) {
		return err
	}
	if len(s.arming.Preload) > 0 || s.arming.Pin {
		s.arming.Preload, s.arming.Pin = nil, false
	} else {
		s.plain = true
	}
	return s.arm(ctx, p, count, once)
}

// disarm gives up what stands ready under a profile.
func (s *sort) disarm(p sandbox.ContainerProfile) error {
	return s.backend.Arm(context.Background(), p, sandbox.Arming{})
}

// close gives up everything of a sort.
func (s *sort) close() error {
	if s.file == "" {
		return s.disarm(s.profile)
	}
	var errs []error
	for _, st := range s.stages {
		errs = append(errs, st.end())
	}
	return errors.Join(errs...)
}
