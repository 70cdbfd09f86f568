//go:build linux || darwin

package host

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/soulacy/toolcell/backends/internal/capture"
	"github.com/soulacy/toolcell/sandbox"
)

// tryTimeout bounds the trying of the limits, which starts two processes.
const tryTimeout = 30 * time.Second

// try sets the limits of p on a process that then ends.
func (b *Backend) try(ctx context.Context, p sandbox.ContainerProfile) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return setup("open the null device", err)
	}
	defer null.Close()
	s, err := b.supervise(job{Limits: b.rlimits(p), Timeout: tryTimeout, Try: true}, []*os.File{null, null, null})
	if err != nil {
		return err
	}
	end, err := s.wait(ctx, tryTimeout)
	switch {
	case err != nil:
		return err
	case end.Canceled:
		return setup("try the limits", context.Cause(ctx))
	case end.Lost || end.TimedOut || end.Status != 0:
		return setup("try the limits", errTry)
	default:
		return nil
	}
}

// pipes are the program's own three files: the caller's ends, and those that the program gets.
type pipes struct {
	stdin          *os.File // nil without input
	stdout, stderr *os.File
	theirs         []*os.File
}

// newPipes makes them.
func newPipes(input bool) (p *pipes, err error) {
	p = &pipes{}
	defer func() {
		if err != nil {
			p.closeTheirs()
			p.closeOurs()
		}
	}()
	if err := p.makeInput(input); err != nil {
		return nil, err
	}
	for _, ours := range []**os.File{&p.stdout, &p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		*ours, p.theirs = r, append(p.theirs, w)
	}
	return p, nil
}

func (p *pipes) makeInput(input bool) error {
	if !input {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		p.theirs = append(p.theirs, null)
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.stdin, p.theirs = w, append(p.theirs, r)
	return nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// execute runs the program under a supervisor and takes its output.
func (k *call) execute(ctx context.Context) (ending, error) {
	p, err := newPipes(k.command.Stdin != nil)
	if err != nil {
		return ending{}, setup("make the program's pipes", err)
	}
	defer p.closeOurs() // of the input too, which ends its copying
	j := job{Argv: octets(k.command.Argv), Env: octets(k.environment()), Dir: []byte(k.dir()), Limits: k.b.rlimits(k.profile), Timeout: k.timeout}
	s, err := k.b.supervise(j, p.theirs)
	p.closeTheirs()
	if err != nil {
		return ending{}, err
	}
	if p.stdin != nil {
		go feed(p.stdin, k.command.Stdin)
	}
	drained := make(chan struct{}, 2)
	for _, d := range []struct {
		from *os.File
		to   *capture.Stream
	}{{p.stdout, k.stdout}, {p.stderr, k.stderr}} {
		go func() {
			_, _ = io.Copy(d.to, onlyReader{d.from})
			drained <- struct{}{}
		}()
	}
	end, err := s.wait(ctx, k.timeout)
	drain(p, drained)
	return end, err
}

// onlyReader hides what else a file can do, so that a copy reads it.
type onlyReader struct{ io.Reader }

// drain waits for the output's end. A process that was not found could keep it open for ever, so that reading ends after
// a moment.
func drain(p *pipes, drained <-chan struct{}) {
	late := time.AfterFunc(settleGrace, func() {
		_ = p.stdout.SetReadDeadline(time.Now())
		_ = p.stderr.SetReadDeadline(time.Now())
	})
	defer late.Stop()
	<-drained
	<-drained
}

// feed copies the input. A program that does not read to the end is no error, and neither is a caller's reader that
// fails: the program sees the end of its input, as with os/exec.
func feed(w *os.File, r io.Reader) {
	defer w.Close()
	_, _ = io.Copy(w, r)
}
