// Package interrupt ends what a command does with the first signal that asks the command to end, so that it can take its
// sandboxes along and say by its exit code which signal it was.
//
// It protects nothing: what ends with the context is the command's to clear away.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// cause is that of a context that a signal ended.
type cause struct{ signal syscall.Signal }

// Error names the signal.
func (c cause) Error() string { return c.signal.String() }

// Context returns a context that ends at the first interrupt, termination or hang-up; see [Code]. A second one ends the
// process at once, and its sandboxes with it. An interrupt or a hang-up that whoever started the command has ignored, as a
// shell does for its background jobs and nohup, stays ignored; Go remembers it of these two alone (os/signal). The function
// that it returns gives the signals back, and ends the context.
func Context(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	got := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	go func() {
		select {
		case s := <-got:
			signal.Stop(got)
			if sig, ok := s.(syscall.Signal); ok {
				cancel(cause{sig})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		cancel(nil)
	}
}

// Code is the exit code that a shell shows for a program that a signal ended, 128+n, when a signal ended ctx; else it is 0.
func Code(ctx context.Context) int {
	var c cause
	if errors.As(context.Cause(ctx), &c) {
		return 128 + int(c.signal)
	}
	return 0
}
