// Package backends is where a program that embeds this module gets its sandboxes. [Open] makes a [Runner] of an operator's
// configuration: it chooses a backend once, opens it, says what an operator has to know, and hands out the tools.
// [OpenBackend] opens one backend by its name, for a program that needs no configuration.
//
// Which backends there are is a value, not a registry filled at start-up: what is not in it does not exist, and an unknown
// name is refused, never replaced by another.
//
// # What it does not protect
//
// Nothing here confines: the backends do, each as its report says. Where the configuration has calls run on the host, they
// do, and the startup messages and checks say so.
package backends

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// Config holds what the backends need to be opened. The zero value is right for most programs.
type Config struct {
	// Native configures the native backend.
	Native native.Config
	// Docker configures the backend of container engines. OpenBackend sets its Binary.
	Docker docker.Config
}

// Names returns the names that [OpenBackend] knows, besides "toolcell" and absolute paths.
func Names() []string { return config.Backends() }

// Default is the name that "" stands for. The operating system decides it, never what happens to be available: native on
// Linux, docker elsewhere.
func Default() string { return config.DefaultBackend(runtime.GOOS) }

// OpenBackend opens the backend of that name: "native", or "toolcell", which is the same; "docker", "podman" or "nerdctl",
// the engine whose command has that name; or the absolute path of an engine's command. "" is [Default]. An unknown name is
// an error of kind [sandbox.KindRefused].
func OpenBackend(ctx context.Context, name string, c Config) (sandbox.Backend, error) {
	if name == "" {
		name = Default()
	}
	switch {
	case name == native.Name, name == "toolcell":
		return native.Open(ctx, c.Native)
	case config.IsEngine(name):
		c.Docker.Binary = name
		b, err := docker.Open(ctx, c.Docker)
		if err != nil {
			return nil, err // and not a nil *docker.Backend in an interface
		}
		return b, nil
	default:
		return nil, &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "open backend",
			Cause: fmt.Errorf("%q is not a backend of this program", name),
			Fix:   "use one of: " + strings.Join(Names(), ", ") + ", or the absolute path of an engine's command",
		}
	}
}
