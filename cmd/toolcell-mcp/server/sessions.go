package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// session is a workspace that calls share.
type session struct {
	id, dir string
	// calls is how many use it now. Without one, the timer ends it.
	calls int
	timer *time.Timer
	// holds is what it held after the last call.
	holds held
}

// workspace is the directory that programs see.
func (s *session) workspace() string { return filepath.Join(s.dir, "workspace") }

// sessions are the workspaces of all clients.
type sessions struct {
	dir    string
	idle   time.Duration
	most   int
	logger *slog.Logger

	mu       sync.Mutex
	byID     map[string]*session
	closed   bool
	removing sync.WaitGroup
}

func newSessions(dir string, idle time.Duration, most int, logger *slog.Logger) *sessions {
	return &sessions{dir: dir, idle: idle, most: most, logger: logger, byID: map[string]*session{}}
}

// begin makes a session for a call.
func (m *sessions) begin() (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errEnding
	}
	if len(m.byID) >= m.most {
		return nil, &sandbox.Error{
			Kind: sandbox.KindRefused, Op: sessionArgument, Cause: fmt.Errorf("there are %d sessions already", m.most),
			Fix: "use one that you have, or wait until one was not used for " + m.idle.String(),
		}
	}
	s := &session{id: "s_" + rand.Text(), calls: 1}
	s.dir = filepath.Join(m.dir, s.id)
	if err := tools.MakeWorkspace(s.workspace()); err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindSetup, Op: "begin a session", Cause: errors.Join(err, os.RemoveAll(s.dir))}
	}
	m.byID[s.id] = s
	return s, nil
}

// use finds the session of an id for a call.
func (m *sessions) use(id string) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.byID[id]
	if m.closed || s == nil {
		return nil, &sandbox.Error{
			Kind: sandbox.KindInvalid, Op: sessionArgument, Cause: fmt.Errorf("%.60q is no session, or no longer one", id),
			Fix: "leave session_id out of shell_exec or write_file to begin another; its workspace is empty",
		}
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.calls++
	return s, nil
}

// held is what a session's workspace held after the last call.
func (m *sessions) held(s *session) held {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.holds
}

// hold notes what it holds now.
func (m *sessions) hold(s *session, h held) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.holds = h
}

// release ends a call's use of a session.
func (m *sessions) release(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.calls--; s.calls > 0 || m.closed {
		return
	}
	s.timer = time.AfterFunc(m.idle, func() { m.expire(s) })
}

// expire ends a session that nobody uses.
func (m *sessions) expire(s *session) {
	m.mu.Lock()
	if s.calls > 0 || m.closed || m.byID[s.id] != s {
		m.mu.Unlock()
		return
	}
	delete(m.byID, s.id)
	m.removing.Add(1)
	m.mu.Unlock()
	defer m.removing.Done()
	if err := s.remove(); err != nil {
		m.logger.Error("the workspace of a session is not removed", "dir", s.dir, "err", err)
	}
}

// drop ends a session at once: the call that began it came to nothing.
func (m *sessions) drop(s *session) {
	m.mu.Lock()
	s.calls--
	m.mu.Unlock()
	m.expire(s)
}

// close removes every session. No call uses one any more.
func (m *sessions) close() error {
	m.mu.Lock()
	m.closed = true
	left := m.byID
	m.byID = nil
	m.mu.Unlock()
	m.removing.Wait()
	var errs []error
	for _, s := range left {
		if s.timer != nil {
			s.timer.Stop()
		}
		errs = append(errs, s.remove())
	}
	return errors.Join(errs...)
}

// open opens the workspace again, which a program may have closed to itself and to those after it. Nothing but this process
// can put anything in its place.
func (s *session) open() error { return os.Chmod(s.workspace(), 0o700) }

func (s *session) remove() error {
	return errors.Join(tools.RemoveWorkspace(s.workspace()), os.RemoveAll(s.dir))
}
