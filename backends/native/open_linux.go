package native

import (
	"context"
	"errors"

	"github.com/soulacy/toolcell/sandbox"
)

// Open is being built.
func Open(context.Context, Config) (sandbox.Backend, error) {
	return nil, &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "open native", Cause: errors.New("under construction")}
}
