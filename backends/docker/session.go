package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

var _ sandbox.Sessions = (*Backend)(nil)

// session is one container for several calls.
type session struct {
	b *Backend
	// k holds what every call of the session has in common.
	k     *call
	leave func()
	// in keeps the first process alive; its end ends the session.
	in *io.PipeWriter

	turn chan struct{} // holds one token: a call takes it
	idle *time.Timer
	wait time.Duration

	once  sync.Once
	ended chan struct{}
	gone  chan struct{} // closed when the container has been removed
	err   error
}

// OpenSession makes a container that waits for calls; see [sandbox.Sessions].
func (b *Backend) OpenSession(ctx context.Context, p sandbox.ContainerProfile, o sandbox.SessionOptions) (sandbox.Session, error) {
	if o.Idle < 0 {
		return nil, sandbox.Invalid("session", "the idle time %s is negative", o.Idle)
	}
	if o.Idle == 0 {
		o.Idle = sandbox.DefaultIdle
	}
	if err := ctx.Err(); err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "open a session", Cause: fmt.Errorf("the context has ended already: %w", err)}
	}
	// The session ends with the backend and not with the context that opened it.
	own, leave, err := b.calls.Enter(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(leave)
	s := &session{b: b, leave: leave, turn: make(chan struct{}, 1), wait: o.Idle, ended: make(chan struct{}), gone: make(chan struct{})}
	if err := s.open(ctx, p); err != nil {
		leave()
		b.engines.forget()
		return nil, err
	}
	s.turn <- struct{}{}
	s.idle = time.AfterFunc(o.Idle, s.expire)
	context.AfterFunc(own, func() { s.end(errors.New("the backend was closed")) })
	return s, nil
}

// open makes, compares and starts the container.
func (s *session) open(ctx context.Context, p sandbox.ContainerProfile) error {
	k, err := s.b.newSessionCall(ctx, p)
	if err != nil {
		return err
	}
	s.k = k
	if err := s.b.dog.add(k.box.name); err != nil {
		return err
	}
	steps := []func(context.Context) error{k.create, k.inspect, s.start}
	if k.box.startsUnseen() {
		steps = []func(context.Context) error{s.start, k.inspect}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			s.abandon()
			return err
		}
	}
	return nil
}

// abandon takes back what open has made.
func (s *session) abandon() {
	if s.in != nil {
		_ = s.in.Close() // init takes the end of its input for the end, also where the engine removes nothing
	}
	s.b.remove(s.k.box.name)
}

// newSessionCall is newCall without a command.
func (b *Backend) newSessionCall(ctx context.Context, p sandbox.ContainerProfile) (*call, error) {
	k := &call{b: b, profile: b.complete(p)}
	if err := b.checkProfile(k.profile); err != nil {
		return nil, err
	}
	var err error
	if k.engine, err = b.engines.get(ctx, b.client); err != nil {
		return nil, err
	}
	k.report = sessionReport(b.report(k.profile, k.engine))
	if err := judge(k.profile, k.engine, k.report, sandbox.LifeNoSurvivors); err != nil {
		return nil, err
	}
	if err := k.specify(ctx); err != nil {
		return nil, err
	}
	k.box.session, k.box.name = true, b.containerName()
	return k, nil
}

// sessionReport says what a session gives up.
func sessionReport(r sandbox.Report) sandbox.Report {
	i := slices.IndexFunc(r, func(e sandbox.Enforcement) bool { return e.Guarantee == sandbox.LifeNoSurvivors })
	if i >= 0 {
		waived := r[i].Waived
		r[i] = absent(sandbox.LifeNoSurvivors, "what a call leaves running is there for the session's next call, and ends with the session", "make calls without a session")
		r[i].Waived = waived
	}
	return r
}

// start starts the container's first process and waits until it says so.
func (s *session) start(ctx context.Context) error {
	read, write := io.Pipe()
	s.in = write
	started, said := make(chan struct{}), &tail{}
	var once sync.Once
	var fault *frame.Failure
	parser := &frame.Parser{Handle: func(t frame.Type, data []byte) error {
		switch t {
		case frame.Started:
			once.Do(func() { close(started) })
		case frame.Fault:
			fault = &frame.Failure{}
			_ = write.Close() // init waits for it
			return frame.Decode(data, fault)
		}
		return nil
	}}
	exited := make(chan error, 1)
	go func() {
		_, err := s.b.client.Run(context.WithoutCancel(ctx), Invocation{Args: s.k.box.startArgs(), Stdin: read, Stdout: parser, Stderr: said})
		read.CloseWithError(io.ErrClosedPipe)
		exited <- err
	}()
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	select {
	case <-started:
		go s.watch(exited)
		return nil
	case err := <-exited:
		if fault != nil {
			return s.k.fault(fault)
		}
		if err == nil {
			err = errors.New(said.String())
		}
		return s.b.engineError(ctx, s.k.profile.Image, &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the session", Cause: err})
	case <-limit.C:
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the session", Cause: fmt.Errorf("it did not start within %s", startTimeout)}
	case <-ctx.Done():
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the session", Cause: ctx.Err()}
	}
}

// watch waits for the container's end, whoever brings it about, and sees to it that nothing is left.
func (s *session) watch(exited <-chan error) {
	select {
	case <-exited:
		s.end(errors.New("its container ended"))
	case <-s.ended:
		select {
		case <-exited:
		case <-time.After(exitGrace):
		}
	}
	s.b.remove(s.k.box.name)
	close(s.gone)
	s.leave()
}

// end ends the session, once. A nil err is the caller's own wish.
func (s *session) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.ended)
		_ = s.in.Close() // init takes the end of its input for the end
	})
}

// expire ends a session that has had no call for its idle time.
func (s *session) expire() {
	select {
	case <-s.turn:
		s.end(fmt.Errorf("it had no call for %s", s.wait))
	default: // a call has it; it starts the clock again
	}
}

// Run runs one call in the session.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	begin := time.Now()
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: fmt.Errorf("the context has ended already: %w", err)}
	}
	k := *s.k
	k.command = c
	if k.command.ID == "" {
		k.command.ID = newCallID()
	}
	if err := k.validate(ctx); err != nil {
		return sandbox.Result{}, err
	}
	select {
	case <-s.turn:
		s.idle.Stop()
	case <-s.ended:
		return sandbox.Result{}, s.endedError()
	case <-ctx.Done():
		return sandbox.Result{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: ctx.Err()}
	}
	defer s.pass()
	select {
	case <-s.ended:
		return sandbox.Result{}, s.endedError()
	default:
	}
	return s.run(ctx, &k, begin)
}

// run carries one call by an exec of the engine's.
func (s *session) run(ctx context.Context, k *call, begin time.Time) (sandbox.Result, error) {
	request, err := k.request()
	if err != nil {
		return sandbox.Result{}, err
	}
	a := newAttachment(k, request)
	a.start(ctx, []string{"exec", "-i", k.box.name, helper.InitPath, helper.ArgCall})
	end, err := a.run(ctx)
	switch {
	case !end.gone:
		// Without init's own word the call's processes may be anywhere in the session.
		s.end(errors.New("a call ended without a report, so what it left cannot be told from what others did"))
		<-s.gone
	case end.report != nil && !end.report.Exited:
		s.end(errors.New("a call's program was killed and did not end"))
		<-s.gone
	}
	if err != nil {
		return sandbox.Result{}, err
	}
	r := k.result(end, time.Since(begin))
	r.Usage.MaxMemory, r.Usage.MaxProcesses = nil, nil // the cgroup's peaks are the session's
	return r, nil
}

// pass lets the next call in, and starts the idle clock.
func (s *session) pass() {
	s.turn <- struct{}{}
	s.idle.Reset(s.wait)
}

func (s *session) endedError() error {
	cause := errors.New("the session has ended")
	if s.err != nil {
		cause = fmt.Errorf("the session has ended: %w", s.err)
	}
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "run", Cause: cause, Fix: "open another session"}
}

// Report is what the session enforces.
func (s *session) Report() sandbox.Report { return slices.Clone(s.k.report) }

// Ended is closed when the session has ended.
func (s *session) Ended() <-chan struct{} { return s.ended }

// Err says why the session ended.
func (s *session) Err() error {
	select {
	case <-s.ended:
		return s.err
	default:
		return nil
	}
}

// Close ends the session and waits until its container is gone.
func (s *session) Close() error {
	s.end(nil)
	s.idle.Stop()
	<-s.gone
	return nil
}
