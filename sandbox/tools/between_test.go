package tools_test

import (
	"context"

	"github.com/soulacy/toolcell/sandbox"
)

// between does something after a tool has looked and before the backend does.
type between struct {
	sandbox.Backend
	before func()
}

func (b *between) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	b.before()
	return b.Backend.Run(ctx, p, c)
}
