package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// A workspace is measured this often while a program runs, and less often where that takes long.
const measureEvery = 200 * time.Millisecond

// How many names a workspace may have, and how deep its directories may be: beyond it takes too long to measure.
const (
	maxNames = 100_000
	maxDepth = 64
)

// held is what a workspace holds.
type held struct {
	bytes int64
	names int
	// hidden is why the rest could not be measured, or "".
	hidden string
}

// over says in what it goes beyond a limit, or "".
func (h held) over(limit held) string {
	switch {
	case h.hidden != "":
		return h.hidden
	case h.bytes > limit.bytes:
		return fmt.Sprintf("more than %d MB", limit.bytes>>20)
	case h.names > limit.names:
		return fmt.Sprintf("more than %d names", limit.names)
	}
	return ""
}

// measure adds up what is below dir, until that is beyond the limit or ctx ends. What is gone while it looks was nothing.
//
// Sizes count, not blocks, and a file with two names twice. What is written to a file without a name is not seen.
func measure(ctx context.Context, dir string, limit held) held {
	m := meter{ctx: ctx, limit: limit}
	if root, err := os.OpenRoot(dir); err == nil {
		defer root.Close()
		m.enter(root, 0)
	} else if info, err := os.Lstat(dir); err != nil || !closed(info) {
		m.hidden = "it cannot be read"
	}
	return m.held
}

// meter measures one workspace.
type meter struct {
	held
	ctx   context.Context
	limit held
}

func (m *meter) done() bool { return m.over(m.limit) != "" || m.ctx.Err() != nil }

// enter looks at one directory, and keeps it open while it looks at those below.
func (m *meter) enter(dir *os.Root, depth int) {
	f, err := dir.Open(".")
	if err != nil {
		m.hidden = "a directory cannot be read"
		return
	}
	defer f.Close()
	for !m.done() {
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			if m.visit(dir, e, depth); m.done() {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			m.hidden = "a directory cannot be read"
		}
	}
}

func (m *meter) visit(dir *os.Root, e fs.DirEntry, depth int) {
	m.names++
	info, err := dir.Lstat(e.Name())
	if err != nil {
		return
	}
	if info.Mode().IsRegular() {
		m.bytes += info.Size()
	}
	switch {
	case !info.IsDir():
		return
	case depth == maxDepth:
		m.hidden = fmt.Sprintf("directories nested deeper than %d", maxDepth)
		return
	}
	sub, err := dir.OpenRoot(e.Name())
	switch {
	case err == nil:
		m.enter(sub, depth+1)
		sub.Close()
	case errors.Is(err, fs.ErrNotExist) || closed(info): // there is nothing to see
	default:
		m.hidden = "a directory cannot be read"
	}
}

// closed reports whether nobody can get into a directory, this process and a program alike.
func closed(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 == 0 }

// limit is what a workspace may hold.
func (s *Server) limit() held { return held{bytes: s.options.Disk, names: maxNames} }

// room refuses a call for which a workspace has none. A program may run in a full one, to remove something.
func (s *Server) room(c request) error {
	now, limit := s.sessions.held(c.session), s.limit()
	switch {
	case c.name == tools.NameReadFile || c.name == tools.NameListFiles:
		return nil
	case now.hidden != "":
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: string(c.name), Cause: fmt.Errorf("the workspace cannot be used any more: %s", now.hidden),
			Fix: "read what is needed with read_file, and leave " + sessionArgument + " out to begin another",
		}
	case c.name != tools.NameWriteFile:
		return nil
	}
	now.bytes += int64(len(c.arguments)) // its content, and little more
	now.names++
	if why := now.over(limit); why != "" {
		return &sandbox.Error{
			Kind: sandbox.KindRefused, Op: string(c.name), Cause: fmt.Errorf("the workspace would hold %s", why),
			Fix: "remove files from it with shell_exec",
		}
	}
	return nil
}

// watch ends a call when it fills its workspace. The function that it returns ends the watching; it returns what a model is
// to know, or "". It is a guard and no quota: what is written between two looks is there.
func (s *Server) watch(ctx context.Context, c request) (context.Context, func() string) {
	if c.session == nil || c.name == tools.NameReadFile || c.name == tools.NameListFiles {
		return ctx, func() string { return "" }
	}
	limit, before := s.limit(), s.sessions.held(c.session)
	limit.bytes, limit.names = max(limit.bytes, before.bytes), max(limit.names, before.names)
	ctx, end := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		keepMeasuring(ctx, c.session.workspace(), limit)
		end()
	}()
	return ctx, func() string {
		end()
		<-stopped
		if err := c.session.open(); err != nil {
			s.options.Logger.Error("a session's workspace cannot be opened", "err", err)
		}
		now := measure(context.WithoutCancel(ctx), c.session.workspace(), limit)
		s.sessions.hold(c.session, now)
		why := cmp.Or(now.over(limit), now.over(s.limit()))
		if why == "" {
			return ""
		}
		return "The workspace is full: " + why + ". Calls that add to it are ended. Remove files from it."
	}
}

// keepMeasuring returns when a workspace goes beyond a limit, or ctx ends.
func keepMeasuring(ctx context.Context, dir string, limit held) {
	wait := time.NewTimer(measureEvery)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		begun := time.Now()
		if measure(ctx, dir, limit).over(limit) != "" {
			return
		}
		wait.Reset(max(measureEvery, 10*time.Since(begun)))
	}
}
