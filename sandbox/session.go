package sandbox

import (
	"context"
	"time"
)

// Sessions is an optional ability of a [Backend]: one sandbox that several calls share, for programs that build up a state.
// A backend that has it implements this interface.
//
// A session gives something up, and a caller chooses it by name: files, processes and everything else inside one call's
// reach are seen, and can be changed, by the calls after it. A process that a call leaves running lives until the session
// ends, so [LifeNoSurvivors] is reported absent. The limits on memory, processes and scratch are those of the session as a
// whole. Whoever must not see another's work needs another session, or a call without one.
type Sessions interface {
	// OpenSession makes a sandbox under p. Its errors are those of [Backend.Run].
	OpenSession(ctx context.Context, p ContainerProfile, o SessionOptions) (Session, error)
}

// SessionOptions says how a session lives. The zero value is useful.
type SessionOptions struct {
	// Idle is how long a session without a call lives. 0 means DefaultIdle; a negative value is invalid.
	Idle time.Duration
}

// DefaultIdle is how long a session without a call lives when nothing else is said.
const DefaultIdle = 10 * time.Minute

// Session is one sandbox for several calls. Its methods are safe for concurrent use; calls run one at a time.
type Session interface {
	// Run runs c in the session. Each call has its own deadline, CPU time, output limits and Result, as in [Backend.Run]. A
	// call that is ended at a limit, or whose ctx ends, is gone with every process that descends from it. When that cannot
	// be made certain, the session ends. A call after the session's end is an error of kind [KindUnavailable].
	Run(ctx context.Context, c Command) (Result, error)

	// Report is what the session enforces.
	Report() Report

	// Ended is closed when the session has ended: by Close, because it was idle, with its backend, or because a guarantee no
	// longer held. Err then says why.
	Ended() <-chan struct{}

	// Err is nil while the session lives and after Close; otherwise it says why the session ended.
	Err() error

	// Close ends the session and everything in it.
	Close() error
}
