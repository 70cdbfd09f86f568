package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// progress tells a person at a terminal what is being measured. The zero value tells nobody.
type progress struct {
	w    io.Writer
	next time.Time
}

// newProgress tells it on standard error, if that is a terminal.
func newProgress() *progress {
	if _, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS); err != nil {
		return &progress{}
	}
	return &progress{w: os.Stderr}
}

// progressPause keeps the telling from costing what is measured.
const progressPause = 200 * time.Millisecond

// show replaces the line that is there.
func (p *progress) show(format string, args ...any) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressPause)
	fmt.Fprintf(p.w, "\r\x1b[K  … "+format, args...)
}

// clear removes the line before something else is printed.
func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.next = time.Time{}
	}
}
