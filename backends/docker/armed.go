package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

// armed is a container that stands ready: made, compared and started as any other, with everything done but to send init
// the call.
type armed struct {
	k *call
	a *attachment
	// sources are what the mounts' sources were.
	sources []os.FileInfo
}

// arm makes a container for a profile and returns when init waits in it.
func (b *Backend) arm(ctx context.Context, p sandbox.ContainerProfile) (*armed, error) {
	s, err := b.armOnce(ctx, p)
	if errors.Is(err, errImageChanged) {
		s, err = b.armOnce(ctx, p)
	}
	if err != nil {
		b.doubt()
		return nil, err
	}
	return s, nil
}

func (b *Backend) armOnce(ctx context.Context, p sandbox.ContainerProfile) (*armed, error) {
	if err := b.checkProfile(p); err != nil {
		return nil, err
	}
	s := &armed{k: &call{b: b, profile: p}}
	look := func(context.Context) (err error) { s.sources, err = sources(p); return err }
	for _, step := range []func(context.Context) error{s.k.judge, s.k.specify, look, s.k.make} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.a = newAttachment(s.k, nil)
	s.a.start(ctx, s.k.box.startArgs())
	if err := s.await(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// await waits until init does, and compares what could not be compared before.
func (s *armed) await(ctx context.Context) error {
	late := func(cause error) error {
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the container", Cause: cause}
	}
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	select {
	case <-s.a.here:
	case x := <-s.a.exited:
		s.a.exited <- x // it stays known
		return s.a.outcome(ctx, &ending{}, x)
	case <-limit.C:
		return late(fmt.Errorf("init did not say within %s that it is there", startTimeout))
	case <-ctx.Done():
		return late(ctx.Err())
	}
	if s.k.box.startsUnseen() {
		return s.k.inspect(ctx)
	}
	return nil
}

// Alive reports whether the engine's command, and so init, has not ended.
func (s *armed) Alive() bool { return len(s.a.exited) == 0 }

// Close ends a container that no call has.
func (s *armed) Close() {
	_ = s.a.in.Close() // init ends with its input
	limit := time.NewTimer(killGrace)
	defer limit.Stop()
	select {
	case <-s.a.exited:
	case <-limit.C:
	}
	s.k.b.remove(s.k.box.name)
	s.a.abandon()
}

// takeArmed finds a container that stands ready for a call, or nil. The call is then made as any other, and says itself what
// is wrong with it.
func (b *Backend) takeArmed(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (*armed, *call) {
	if b.armory.Empty() {
		return nil, nil
	}
	k := b.startCall(p, c)
	if k.validate(ctx) != nil {
		return nil, nil
	}
	var found *call
	s, ok := b.armory.Take(armedKey(armedProfile(k.profile)), func(s *armed) bool {
		found = s.fit(ctx, *k)
		return found != nil
	})
	if !ok {
		return nil, nil
	}
	return s, found
}

// fit returns a call as one of this container, when the same container would be made for it now, and nil otherwise.
func (s *armed) fit(ctx context.Context, k call) *call {
	k.engine = s.k.engine // which still runs it
	for _, step := range []func(context.Context) error{k.judge, k.specify} {
		if step(ctx) != nil {
			return nil
		}
	}
	k.box.name = s.k.box.name
	if !s.k.box.same(k.box) || !s.sameSources(k.profile) || s.k.image.ID != k.image.ID || !k.b.sameImage(ctx, k.profile.Image, k.image.ID) {
		return nil
	}
	if !s.answers(ctx) {
		return nil
	}
	return &k
}

// answerTimeout is how long init has to say that it is there. What does not answer, frozen or about to end, is given up.
const answerTimeout = 3 * time.Second

// answers asks init whether it is there. Once a call is sent nobody could tell any more whether its program has run.
func (s *armed) answers(ctx context.Context) bool {
	if s.a.send(frame.Append(nil, frame.Here, nil)) != nil {
		return false
	}
	limit := time.NewTimer(answerTimeout)
	defer limit.Stop()
	select {
	case <-s.a.here:
		return true
	case x := <-s.a.exited:
		s.a.exited <- x // it stays known
		return false
	case <-limit.C:
		return false
	case <-ctx.Done():
		return false
	}
}

// same reports whether two containers are the same to an engine and to init: the command line, the file of the filter, and
// what lies at the mounts.
func (c container) same(other container) bool {
	return slices.Equal(c.makeArgs("run"), other.makeArgs("run")) && c.filter == other.filter && reflect.DeepEqual(c.places, other.places)
}

// sources looks at what is at the mounts' sources now.
func sources(p sandbox.ContainerProfile) ([]os.FileInfo, error) {
	all, err := p.AllMounts()
	if err != nil {
		return nil, err
	}
	var out []os.FileInfo
	for _, m := range all {
		info, err := os.Stat(m.Source)
		if err != nil {
			return nil, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "mount " + strconv.Quote(m.Source), Cause: err}
		}
		os.SameFile(info, info) // on Windows a file is not identified before it is asked for
		out = append(out, info)
	}
	return out, nil
}

func (s *armed) sameSources(p sandbox.ContainerProfile) bool {
	now, err := sources(p)
	return err == nil && slices.EqualFunc(s.sources, now, os.SameFile)
}

// run makes a call in the container, which is the call's from here on.
func (s *armed) run(ctx context.Context, k *call) (ending, error) {
	request, err := k.request()
	if err == nil && ctx.Err() != nil {
		err = &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the container", Cause: ctx.Err()}
	}
	if err != nil {
		s.Close()
		return ending{}, err
	}
	s.a.carry(k, request)
	end, err := s.a.run(ctx)
	k.leave(end)
	return end, err
}
