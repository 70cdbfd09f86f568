package native

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe of which the sandbox gets one end, blocking as programs expect, and this process keeps the other.
// owner is the sandbox's user, when it is another than the caller: without the change of owner the program could not
// open its own /dev/stdout again.
func pipe(ours, theirs int, owner *uint32) (our, their *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	if owner != nil {
		err = unix.Fchown(fds[0], int(*owner), int(*owner))
	}
	if err == nil {
		err = unix.SetNonblock(fds[ours], true)
	}
	if err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	return os.NewFile(uintptr(fds[ours]), "pipe"), os.NewFile(uintptr(fds[theirs]), "pipe"), nil
}

const (
	readEnd  = 0
	writeEnd = 1
)

// capture reads one output stream to its end, whatever its size: the first bytes up to limit are kept and handed to
// tap, the rest is counted and dropped, so memory stays flat.
type capture struct {
	r     *os.File
	tap   io.Writer
	limit int
	done  chan struct{}

	mu    sync.Mutex
	kept  []byte
	total int64
}

func newCapture(r *os.File, limit int, tap io.Writer) *capture {
	return &capture{r: r, limit: limit, tap: tap, done: make(chan struct{})}
}

// run reads until the last writer is gone or the pipe is closed under it.
func (c *capture) run() {
	defer close(c.done)
	defer c.r.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := c.r.Read(buf)
		c.take(buf[:n])
		if err != nil {
			return
		}
		if n == len(buf) && len(buf) < 64<<10 {
			buf = make([]byte, 64<<10)
		}
	}
}

func (c *capture) take(p []byte) {
	c.mu.Lock()
	c.total += int64(len(p))
	if room := c.limit - len(c.kept); len(p) > room {
		p = p[:room]
	}
	c.kept = append(c.kept, p...)
	c.mu.Unlock()
	if len(p) == 0 || c.tap == nil {
		return
	}
	if _, err := c.tap.Write(p); err != nil {
		c.tap = nil // its reader is gone; the program is not to notice
	}
}

// output returns what was kept and how much there was.
func (c *capture) output() (kept []byte, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept, c.total
}

// drained waits until all captures are at their end, at most d.
func drained(d time.Duration, cs ...*capture) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for _, c := range cs {
		select {
		case <-c.done:
		case <-t.C:
			return false
		}
	}
	return true
}

// settleGrace is how long captures may go on when every process that could write is dead.
const settleGrace = time.Second

// settle waits for captures whose writers are all dead. A descriptor that left the sandbox by a socket in a declared
// mount could keep a pipe open for ever, so reading ends after a moment. A caller's own writer that is slow is waited
// for, as by os/exec, until ctx ends; with a call that was killed at its deadline it has a moment too.
func settle(ctx context.Context, killed bool, cs ...*capture) {
	if drained(settleGrace, cs...) {
		return
	}
	for _, c := range cs {
		_ = c.r.SetReadDeadline(time.Now()) // a capture that is done has closed it
	}
	if killed {
		drained(settleGrace, cs...)
		return
	}
	for _, c := range cs {
		select {
		case <-c.done:
		case <-ctx.Done():
			return
		}
	}
}

// feed copies the call's input. A program that does not read to the end is no error, and neither is a caller's reader
// that fails: the program sees the end of its input, as with os/exec.
func feed(w *os.File, r io.Reader) {
	defer w.Close()
	_, _ = io.Copy(w, r)
}
