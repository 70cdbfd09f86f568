package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// rehearsal is a program that no image has.
const rehearsal = "/proc/self/fd/rehearsal"

// Ready asks the engine, computes the report and then rehearses a call: everything is done that a call does, up to a
// program that does not exist. An answer that says yes is believed for some seconds; one that says no is asked for again.
func (b *Backend) Ready(ctx context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p = b.complete(p)
	if err := b.checkProfile(p); err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%+v", p)
	if r := b.ready.get(key); r != nil {
		return r, nil
	}
	b.engines.forget()
	e, err := b.engines.get(ctx, b.client)
	if err != nil {
		return nil, err
	}
	r := b.report(p, e)
	if err := judge(p, e, r); err != nil {
		return r, err
	}
	b.forgetImage(p.Image)
	if _, _, err = b.runNew(ctx, p, sandbox.Command{Argv: []string{rehearsal}}); errors.Is(err, sandbox.ErrNotFound) {
		b.ready.put(key, r)
		err = nil
	}
	return r, err
}

// readyCache keeps what Ready said yes to, for a while.
type readyCache struct {
	mu   sync.Mutex
	said map[string]readyAnswer
}

type readyAnswer struct {
	report sandbox.Report
	at     time.Time
}

func (c *readyCache) get(key string) sandbox.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.said[key]
	if !ok || time.Since(a.at) >= believed {
		return nil
	}
	return a.report
}

func (c *readyCache) put(key string, r sandbox.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said == nil || len(c.said) > 100 {
		c.said = map[string]readyAnswer{}
	}
	c.said[key] = readyAnswer{report: r, at: time.Now()}
}

// forget is for when a call failed in a way that Ready's answer did not foresee.
func (c *readyCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = nil
}

// Prepare fetches the profile's image when the engine does not have it. What the engine says meanwhile goes to
// Config.Progress.
func (b *Backend) Prepare(ctx context.Context, p sandbox.ContainerProfile) error {
	ctx, leave, err := b.calls.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	p = b.complete(p)
	if err := b.checkProfile(p); err != nil {
		return err
	}
	b.forgetImage(p.Image)
	_, missing := b.image(ctx, p.Image)
	if missing == nil {
		return nil
	}
	if p.Image == sandbox.ImageHost {
		return missing // whoever owns that name in a registry was not meant
	}
	if _, err := b.engines.get(ctx, b.client); err != nil {
		return err
	}
	said := &tail{}
	status, err := b.client.Run(ctx, Invocation{Args: []string{"pull", p.Image}, Stdout: b.config.Progress, Stderr: said})
	if err == nil && status != 0 {
		err = &commandError{command: "pull", status: status, said: said.String()}
	}
	if err != nil {
		return unavailable(fmt.Sprintf("fetch the image %q", p.Image), err, "see that the name is right and that the engine reaches its registry, or load the image by hand")
	}
	_, err = b.image(ctx, p.Image)
	return err
}
