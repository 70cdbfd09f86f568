package docker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// hostIsLinux says whether init's program runs on this machine too.
const hostIsLinux = runtime.GOOS == "linux"

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

const (
	// createTimeout bounds the making of a container. It is not the caller's context: a client that is killed leaves
	// behind what the engine still makes.
	createTimeout = 60 * time.Second
	// removeTimeout bounds one attempt to remove a container.
	removeTimeout = 10 * time.Second
	// removeAgain is how long a container that could not be removed is tried again, and how often.
	removeAgain, removeEvery = 60 * time.Second, time.Second
)

// Run runs c under p; see [sandbox.Backend].
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	begin := time.Now()
	if err := ctx.Err(); err != nil {
		return sandbox.Result{}, &sandbox.Error{Kind: sandbox.KindInvalid, Op: "run", Cause: fmt.Errorf("the context has ended already: %w", err)}
	}
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	k, end, err := b.run(ctx, p, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	return k.result(end, time.Since(begin)), nil
}

// run runs c in a container that stands ready, or in one that is made for it.
func (b *Backend) run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (*call, ending, error) {
	s, k := b.takeArmed(ctx, p, c)
	if s == nil {
		return b.runNew(ctx, p, c)
	}
	end, err := s.run(ctx, k)
	if err != nil {
		b.doubt()
	}
	return k, end, err
}

// runNew runs c in a container that is made for it.
func (b *Backend) runNew(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (*call, ending, error) {
	for retry := false; ; retry = true {
		k, err := b.newCall(ctx, p, c)
		if err != nil {
			return nil, ending{}, err
		}
		end, err := k.run(ctx)
		if errors.Is(err, errImageChanged) && !retry {
			continue
		}
		if err != nil {
			b.doubt()
		}
		return k, end, err
	}
}

// doubt has the engine asked again before it is believed.
func (b *Backend) doubt() {
	b.engines.forget()
	b.ready.forget()
}

// errImageChanged says that the engine has another image of that name than it had before.
var errImageChanged = errors.New("the image has been replaced by another of the same name")

// run makes the container, compares it, starts it, and sees to it that nothing of it is left.
func (k *call) run(ctx context.Context) (ending, error) {
	request, err := k.request()
	if err != nil {
		return ending{}, err
	}
	if err := k.make(ctx); err != nil {
		return ending{}, err
	}
	a := newAttachment(k, request)
	if k.box.startsUnseen() {
		a.compare = k.inspect
	}
	a.start(ctx, k.box.startArgs())
	end, err := a.run(ctx)
	k.leave(end)
	return end, err
}

// make makes the container, and compares it where that can be done before its start. After an error there is none.
func (k *call) make(ctx context.Context) error {
	k.box.name = k.b.containerName()
	if err := k.b.dog.add(k.box.name); err != nil {
		return err
	}
	if !k.box.startsUnseen() {
		for _, step := range []func(context.Context) error{k.create, k.inspect} {
			if err := step(ctx); err != nil {
				k.b.remove(k.box.name)
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		k.b.remove(k.box.name)
		return &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the container", Cause: err}
	}
	return nil
}

// leave sees to it that nothing is left of the container of a call that has ended.
func (k *call) leave(end ending) {
	if end.gone && k.box.removedByStart() {
		k.b.dog.forget(k.box.name)
	} else {
		k.b.remove(k.box.name)
	}
}

// create has the container made.
func (k *call) create(ctx context.Context) error {
	own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), createTimeout, fmt.Errorf("the engine did not answer within %s", createTimeout))
	defer cancel()
	args := k.box.createArgs()
	_, err := output(own, k.b.client, args...)
	if err == nil {
		return nil
	}
	if unknown := unknownFlags(own, k.b.client, args); len(unknown) > 0 {
		return unavailable("create the container", fmt.Errorf("the engine's command does not know %s", strings.Join(unknown, ", ")),
			"update the engine's command: these flags are what confines")
	}
	return k.b.engineError(ctx, k.profile.Image, &sandbox.Error{Kind: sandbox.KindSetup, Op: "create the container", Cause: err, Fix: "see what the engine says; its own log may say more"})
}

// unknownFlags are the long flags among args that the command's own help does not list. A help that lists none at all
// says nothing.
func unknownFlags(ctx context.Context, c Client, args []string) []string {
	verb := slices.Index(args, "create")
	help, err := output(ctx, c, "create", "--help")
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for _, word := range strings.Fields(string(help)) {
		if strings.HasPrefix(word, "--") {
			known[strings.Trim(word, ",")] = true
		}
	}
	var unknown []string
	for _, a := range args[verb+1:] {
		name, _, _ := strings.Cut(a, "=")
		if strings.HasPrefix(name, "--") && len(known) > 0 && !known[name] && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// engineError finds out why the engine did not do something: it is gone, the image is, its command does not know a flag,
// or what it said itself.
func (b *Backend) engineError(ctx context.Context, image string, own *sandbox.Error) error {
	ctx = context.WithoutCancel(ctx)
	b.engines.forget()
	if _, err := b.engines.get(ctx, b.client); err != nil {
		return err
	}
	b.forgetImage(image)
	if _, err := b.image(ctx, image); err != nil {
		return err
	}
	return own
}

// inspect compares what was made with what was asked for.
func (k *call) inspect(ctx context.Context) error {
	own, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), createTimeout, fmt.Errorf("the engine did not answer within %s", createTimeout))
	defer cancel()
	quick, done := bounded(own, k.b.engines.bound())
	defer done()
	out, err := k.b.dial.inspect(quick, k.box.name)
	if err != nil {
		out, err = output(own, k.b.client, k.box.inspectArgs()...)
	}
	if err != nil {
		return k.b.engineError(ctx, k.profile.Image, &sandbox.Error{Kind: sandbox.KindSetup, Op: "inspect the container", Cause: err})
	}
	err = k.box.check(out, k.image.ID)
	if errors.Is(err, errImageChanged) {
		k.b.forgetImage(k.profile.Image)
	}
	return err
}

// remove removes a container and waits for it. What cannot be removed now is tried again beside the calls, and by the
// watchdog when the backend is closed before it succeeds.
func (b *Backend) remove(name string) {
	if b.removeOnce(context.Background(), name) {
		b.dog.forget(name)
		return
	}
	b.log.Error("a container could not be removed yet", "container", name)
	b.background.Go(func() {
		ctx, cancel := context.WithTimeout(b.stop, removeAgain)
		defer cancel()
		for ctx.Err() == nil {
			if b.removeOnce(ctx, name) {
				b.dog.forget(name)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(removeEvery):
			}
		}
	})
}

// removeOnce tries to remove a container, on a context of its own, and reports whether it is certainly gone.
func (b *Backend) removeOnce(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	if _, err := output(ctx, b.client, "rm", "-f", "-v", name); err == nil {
		return true
	}
	// It may have been gone before, or not be made yet: ask.
	out, err := output(ctx, b.client, "ps", "-a", "-q", "--filter", "name="+name)
	return err == nil && strings.TrimSpace(string(out)) == ""
}
