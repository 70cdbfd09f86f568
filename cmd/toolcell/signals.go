package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig syscall.Signal }

// Error names the signal.
func (e signalError) Error() string { return e.sig.String() }

// exit is what a shell shows for a program that the signal ended.
func (e signalError) exit() exitCode { return exitCode(128 + int(e.sig)) }

// withSignals returns a context that ends with a signalError at the first interrupt, termination or hang-up. An interrupt
// or a hang-up that whoever started the command has ignored, as a shell does for its background jobs and nohup, stays
// ignored; Go remembers it of these two alone (os/signal). The function it returns gives the signals back.
func withSignals(ctx context.Context) (context.Context, func()) {
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
			signal.Stop(got) // a second one ends the process at once, and the sandbox with it
			if sig, ok := s.(syscall.Signal); ok {
				cancel(signalError{sig})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		cancel(nil)
	}
}
