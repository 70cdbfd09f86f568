package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// Examine asks b what a call with p would enforce: first whether there would be one, then each guarantee. Nothing of p runs.
func Examine(ctx context.Context, b sandbox.Backend, p sandbox.ContainerProfile) []Check {
	start := time.Now()
	report, err := b.Ready(ctx, p)
	call := FromError("call", err).Since(start)
	switch {
	case err == nil:
		call.Mechanism = "would run"
	case errors.Is(err, sandbox.ErrRefused):
		call.Mechanism = "would be refused"
	}
	if len(report) == 0 {
		return []Check{call}
	}
	return append([]Check{call}, FromReport(report, Required(b.Name(), p))...)
}

// Opened is the line about the opening of a backend that began at start.
func Opened(name string, err error, start time.Time) Check {
	c := FromError("backend", err).Since(start)
	c.Mechanism = name
	return c
}

// Since returns a copy of c that says how long ago its check began.
func (c Check) Since(start time.Time) Check {
	d := time.Since(start)
	c.Elapsed = &d
	return c
}
