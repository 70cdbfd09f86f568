package backends

import (
	"context"
	"log/slog"
	"slices"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// Options says what [Open] is to know beside the operator's configuration. The zero value is right for a gateway that is a
// small Go program and calls spawner.Main, helper.Main and host.Main first thing in main.
type Options struct {
	// Backends holds what the configuration has no key for, such as the path of the spawner. What it has a key for comes
	// from there.
	Backends Config
	// Host is the absolute path of a program that calls host.Main first thing in main, for calls that the configuration
	// puts on the host. "" means this program, which then has to do so.
	Host string
	// Agents are the agents that are known at the start: the backends that they insist on are opened too, and the messages
	// name what their calls do otherwise. An agent that comes later gets what is open, or a refusal.
	Agents []config.Agent
	// Download is what download_file gets its files with: netguard.Guard{} reaches public addresses only. nil refuses it; a
	// program that offers no downloads so needs no HTTP.
	Download tools.Fetcher
	// Logger receives the messages of the start, and later what operators should know. nil means silence.
	Logger *slog.Logger
	// Once is for a program that makes one call and ends, as a command does: nothing is made ahead of a next call, and a
	// backend that the configuration names is not asked at the start whether it is ready; it refuses the call itself.
	// native.Config.Lazy and Direct save more.
	Once bool
	// Prepare has Open do ahead what calls must not spend their time on, such as fetching images, so that what it chooses
	// and says holds from the first call on. It can take as long as the fetching does; see also [Runner.Prepare].
	Prepare bool
	// Inspect is for a program that only wants to know, as a doctor does: nothing is made on this machine, a missing
	// workspace neither, and no message is logged. What the runner would refuse it still refuses.
	Inspect bool
	// Cold keeps nothing ready for calls to come, whatever the configuration says.
	Cold bool
	// Open opens one backend. nil means [OpenBackend].
	Open Opener
}

// Opener opens the backend of a name, as [OpenBackend] does.
type Opener func(ctx context.Context, name string, c Config) (sandbox.Backend, error)

func (o Options) open(ctx context.Context, name string, c Config) (sandbox.Backend, error) {
	if o.Open != nil {
		return o.Open(ctx, name, c)
	}
	return OpenBackend(ctx, name, c)
}

// backendConfig is what the operator's configuration says to the backends. imageUser keeps the image's own user where
// the configuration asks for it, which is a matter of Python tools.
func (o Options) backendConfig(c *config.Config, imageUser bool) Config {
	b := o.Backends
	b.Native.Images, b.Native.Waivers, b.Native.Logger = c.Sandbox.Images, c.Waivers(), o.Logger
	b.Docker.Image, b.Docker.Runtime, b.Docker.Waivers, b.Docker.Logger = c.Sandbox.Image, c.Sandbox.Runtime, c.Waivers(), o.Logger
	b.Native.Once = b.Native.Once || o.Once
	if n := c.Executor.Granted(); n != "" {
		b.Docker.Networks = append(slices.Clone(b.Docker.Networks), n)
	}
	if imageUser && c.KeepsImageUser() {
		b.Docker.User = docker.UserImage
	}
	if c.File != "" {
		b.Native.Protected = append(slices.Clone(b.Native.Protected), c.File)
		b.Docker.Protected = append(slices.Clone(b.Docker.Protected), c.File)
	}
	return b
}
