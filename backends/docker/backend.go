package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/internal/armory"
	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/sandbox"
)

// Backend runs calls through a container engine's command. Each call's container is its own.
type Backend struct {
	config  Config
	log     *slog.Logger
	client  Client
	dialect dialect
	helper  string
	files   files
	engines engineCache
	ready   readyCache
	owner   owner
	dog     *watchdog
	dial    *dial // nil where the engine has no such command
	calls   inflight.Calls
	armory  *armory.Armory[*armed]
	// background is what no call waits for: the sweep, and containers whose removal failed.
	background sync.WaitGroup
	stop       context.Context
	stopAll    context.CancelFunc

	mu     sync.Mutex
	next   uint64
	images map[string]*image
}

var _ sandbox.Backend = (*Backend)(nil)

// Open finds the engine's command and asks what it is, finds init's program, and removes what a dead caller of this host
// left behind. Its errors match [sandbox.ErrUnavailable], or [sandbox.ErrInvalid] for a configuration that cannot be
// meant.
func Open(ctx context.Context, c Config) (*Backend, error) {
	if c.Binary == "" {
		c.Binary = Name
	}
	b := &Backend{config: c, log: c.Logger, client: c.Client, images: map[string]*image{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.engines.timeout = c.ProbeTimeout
	b.armory = armory.New[*armed](b.armingRules())
	b.stop, b.stopAll = context.WithCancel(context.Background())
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.release())
	}
	for _, w := range c.Waivers {
		b.log.Error("a guarantee is waived", "guarantee", w.Guarantee, "reason", w.Reason)
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context) error {
	if err := checkConfig(b.config); err != nil {
		return err
	}
	var err error
	if b.helper, err = findHelper(b.config.Helper); err != nil {
		return err
	}
	binary := b.config.Binary
	if b.client == nil {
		client, err := newClient(binary)
		if err != nil {
			return missingBinary(binary, err)
		}
		b.client, binary = client, client.path
	}
	e, err := b.engines.get(ctx, b.client)
	if err != nil {
		return err
	}
	b.dialect = e.dialect
	if b.files, err = newFiles(b.config.StateDir); err != nil {
		return err
	}
	b.owner = newOwner()
	watch := helper.Watch{
		Binary: binary, Label: labelInstance + "=" + b.owner.instance, Dir: b.files.dir, Daemon: e.dialect == dialectDocker,
	}
	if b.dog, err = startWatchdog(b.helperOnHost(), watch); err != nil {
		return err
	}
	if e.dialect == dialectDocker {
		b.dial = startDial(b.client)
	}
	b.background.Go(func() { b.sweep(b.stop) })
	return nil
}

func checkConfig(c Config) error {
	if c.ProbeTimeout < 0 {
		return sandbox.Invalid("open docker", "the probe's timeout %s is negative", c.ProbeTimeout)
	}
	for _, w := range c.Waivers {
		if !w.Guarantee.Valid() {
			return sandbox.Invalid("open docker", "waiver of %q, which is no guarantee", string(w.Guarantee))
		}
	}
	if slices.Contains(c.Networks, "host") {
		return sandbox.Invalid("open docker", `the network "host" is the machine's own and cannot be granted`)
	}
	return checkConfigUser(c.User)
}

func missingBinary(binary string, err error) error {
	fix := fmt.Sprintf("install %s, or name another engine's command", binary)
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist) {
		fix = "see that this user may execute it"
	}
	return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "find the container engine's command", Cause: err, Fix: fix}
}

// Name returns the engine's dialect: "docker", "podman" or "nerdctl".
func (b *Backend) Name() string { return string(b.dialect) }

// waived reports whether the operator does without g.
func (b *Backend) waived(g sandbox.Guarantee) bool {
	return slices.ContainsFunc(b.config.Waivers, func(w sandbox.Waiver) bool { return w.Guarantee == g })
}

// Close ends what runs, waits for it, and removes the backend's files.
func (b *Backend) Close() error {
	if !b.calls.Close() {
		return nil
	}
	return b.release()
}

func (b *Backend) release() error {
	b.armory.Close()
	b.stopAll()
	b.dial.close()
	b.background.Wait()
	if b.dog != nil {
		b.dog.close() // it still removes what could not be removed here
	}
	return b.files.close()
}

// containerName makes a name that no other container has, on any machine that shares the engine.
func (b *Backend) containerName() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return "toolcell-" + b.owner.instance + "-" + strconv.FormatUint(b.next, 10)
}

// believed is how long an answer of the engine's about itself is used again.
const believed = 10 * time.Second

// engineCache keeps what an engine said for a while. A failed call makes it ask again.
type engineCache struct {
	// timeout bounds one question; 0 means probeTimeout.
	timeout time.Duration

	mu sync.Mutex
	e  *engine
	at time.Time
}

func (c *engineCache) get(ctx context.Context, client Client) (*engine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.e != nil && time.Since(c.at) < believed {
		return c.e, nil
	}
	e, err := c.ask(ctx, client)
	if err != nil {
		c.e = nil
		return nil, err
	}
	c.e, c.at = e, time.Now()
	return e, nil
}

// ask asks, whatever is remembered.
func (c *engineCache) ask(ctx context.Context, client Client) (*engine, error) {
	ctx, cancel := bounded(ctx, c.bound())
	defer cancel()
	return probe(ctx, client)
}

func (c *engineCache) bound() time.Duration { return cmp.Or(c.timeout, probeTimeout) }

func (c *engineCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.e = nil
}
