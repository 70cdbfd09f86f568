//go:build !linux

package native

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/sandbox"
)

// Open returns an error that matches [sandbox.ErrUnavailable]: the native backend needs Linux.
func Open(context.Context, Config) (sandbox.Backend, error) {
	return nil, &sandbox.Error{
		Kind: sandbox.KindUnavailable, Op: "open native", Cause: errors.New("it needs a Linux kernel"),
		Fix: "use a container engine's backend on this system",
	}
}
