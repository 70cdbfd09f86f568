//go:build linux || darwin

package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/soulacy/toolcell/sandbox"
)

// supervisorProgram finds the program that becomes the supervisor.
func supervisorProgram(c Config) (string, error) {
	if c.Program != "" {
		if !filepath.IsAbs(c.Program) { // it would be looked for in PATH, or from the root on
			return "", sandbox.Invalid("open host", "Program %q is not an absolute path", c.Program)
		}
		return c.Program, nil
	}
	if !Callable() {
		return "", unavailable("open host", errors.New("no program is known that can supervise a call"),
			"call host.Main() first thing in main, or set host.Config.Program to a program that does, such as toolcell")
	}
	program, err := self()
	if err != nil {
		return "", unavailable("open host", err, "set host.Config.Program")
	}
	return program, nil
}

// patience is how much longer than its deadline a supervisor is given before it is killed itself: it may have been
// stopped by the program, which is the same user's.
const patience = 10 * time.Second

// patienceAfterCancel is the same from a cancellation on.
const patienceAfterCancel = killGrace + 3*time.Second

// supervised is a running supervisor.
type supervised struct {
	cmd     *exec.Cmd
	control *os.File // our end: closing it ends the program
	news    *os.File
	crash   crash
}

// supervise starts a supervisor, which gets files as the program's own three.
func (b *Backend) supervise(j job, files []*os.File) (*supervised, error) {
	s := &supervised{cmd: exec.Command(b.program)}
	s.cmd.Args = []string{b.program, supervisorWord}
	s.cmd.Env = []string{}
	s.cmd.Dir = "/"
	s.cmd.SysProcAttr = supervisorAttributes()
	s.cmd.Stderr = &s.crash
	control, ourControl, err := os.Pipe()
	if err != nil {
		return nil, setup("make a pipe", err)
	}
	defer control.Close()
	ourNews, toNews, err := os.Pipe()
	if err != nil {
		ourControl.Close()
		return nil, setup("make a pipe", err)
	}
	defer toNews.Close()
	s.control, s.news = ourControl, ourNews
	s.cmd.ExtraFiles = append([]*os.File{control, toNews}, files...)
	s.cmd.WaitDelay = settleGrace
	if err := s.cmd.Start(); err != nil {
		s.close()
		return nil, unavailable("start the supervisor", err, "see that the program can be executed, or set host.Config.Program")
	}
	go func() { _ = json.NewEncoder(ourControl).Encode(j) }() // a supervisor that ended before it read says so by its end
	return s, nil
}

func (s *supervised) close() {
	s.control.Close()
	s.news.Close()
}

// wait waits for the program's end. The supervisor kills it at its deadline, or when ctx ends.
func (s *supervised) wait(ctx context.Context, timeout time.Duration) (ending, error) {
	defer s.close()
	hearing := make(chan heard, 1)
	go func() { hearing <- s.listen() }()
	overdue := time.NewTimer(timeout + killGrace + patience)
	defer overdue.Stop()
	var h heard
	var canceled, killed bool
	for waiting, done := true, ctx.Done(); waiting; {
		select {
		case h = <-hearing:
			waiting = false
		case <-done:
			canceled, done = true, nil
			s.control.Close()
			overdue.Reset(patienceAfterCancel)
		case <-overdue.C:
			killed = true
			_ = s.cmd.Process.Kill() // its news end, and so does the waiting
		}
	}
	waitErr := s.cmd.Wait()
	if h.end != nil || h.err != nil {
		return h.ending(), h.err
	}
	return s.abandoned(h.group, ending{Lost: true, TimedOut: killed && !canceled, Canceled: canceled, Survivors: true}, waitErr)
}

// abandoned deals with a supervisor that ended before it told the program's end: killed by the program, or by us.
func (s *supervised) abandoned(group int, end ending, waitErr error) (ending, error) {
	if group == 0 {
		if waitErr == nil {
			waitErr = io.ErrUnexpectedEOF
		}
		return end, &sandbox.Error{Kind: sandbox.KindSetup, Op: "supervise", Cause: errors.Join(waitErr, s.crash.err()), Fix: "see that the program calls host.Main first thing in main"}
	}
	_ = syscall.Kill(-group, syscall.SIGKILL) // what is left of its group; ESRCH: nothing
	return end, nil
}

// heard is all that a supervisor said.
type heard struct {
	group int
	end   *ending
	err   error
}

func (h heard) ending() ending {
	if h.end == nil {
		return ending{}
	}
	return *h.end
}

// listen takes a supervisor's messages until it has said how the program ended, or can say no more.
func (s *supervised) listen() heard {
	var h heard
	messages := json.NewDecoder(s.news)
	for {
		var n news
		if err := messages.Decode(&n); err != nil {
			return h
		}
		switch {
		case n.Fault != nil:
			h.err = n.Fault.err()
			return h
		case n.End != nil:
			h.end = n.End
			return h
		default:
			h.group = n.Group
		}
	}
}

// crash keeps the first of what a supervisor writes to its standard error, which it does only when it crashes.
type crash struct {
	mu   sync.Mutex
	text []byte
}

const crashBytes = 2048

// Write takes p and never fails.
func (c *crash) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[:min(len(p), crashBytes-len(c.text))]...)
	return len(p), nil
}

func (c *crash) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.text) == 0 {
		return nil
	}
	return errors.New(string(c.text))
}
