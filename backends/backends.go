// Package backends opens a backend by its name. The list is a value, not a registry filled at start-up: what is not in
// it does not exist, and an unknown name is refused, never replaced by another.
package backends

import (
	"context"
	"fmt"
	"strings"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// Config holds what the backends need to be opened. The zero value is right for most programs.
type Config struct {
	// Native configures the native backend.
	Native native.Config
}

// Names returns the names that [Open] knows.
func Names() []string { return []string{native.Name} }

// Open opens the backend of that name; "toolcell" is another name of the native one. An unknown name is an error of kind
// [sandbox.KindRefused].
func Open(ctx context.Context, name string, c Config) (sandbox.Backend, error) {
	switch name {
	case native.Name, "toolcell":
		return native.Open(ctx, c.Native)
	default:
		return nil, &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "open backend",
			Cause: fmt.Errorf("%q is not a backend of this program", name),
			Fix:   "use one of: " + strings.Join(Names(), ", "),
		}
	}
}
