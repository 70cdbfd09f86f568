package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// progress tells a person at a terminal what is being measured, and knows when they have had enough. The zero value and nil
// tell nobody.
type progress struct {
	ctx  context.Context
	w    io.Writer
	next time.Time
}

// newProgress tells it on standard error, if that is a terminal. ctx ends when the person wants no more.
func newProgress(ctx context.Context) *progress {
	if _, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS); err != nil {
		return &progress{ctx: ctx}
	}
	return &progress{ctx: ctx, w: os.Stderr}
}

var errInterrupted = errors.New("interrupted")

// goOn returns an error when nothing more is to be measured.
func (p *progress) goOn() error {
	if p != nil && p.ctx != nil && p.ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// progressPause keeps the telling from costing what is measured.
const progressPause = 200 * time.Millisecond

// show replaces the line that is there.
func (p *progress) show(format string, args ...any) {
	if p == nil || p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressPause)
	fmt.Fprintf(p.w, "\r\x1b[K  … "+format, args...)
}

// clear removes the line before something else is printed.
func (p *progress) clear() {
	if p != nil && p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.next = time.Time{}
	}
}
