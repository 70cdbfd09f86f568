package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox/tools"
)

// The defaults of Options.
const (
	DefaultIdle     = 30 * time.Minute
	DefaultSessions = 64
	DefaultCalls    = 16
	DefaultDisk     = 512 << 20
)

// MaxMessage is how large a message of a client may be, in bytes. The largest that means well are code and files.
const MaxMessage = 16 << 20

// instructions tell a model what all the tools have in common.
const instructions = "Code runs in a disposable Linux sandbox without a network. run_code keeps nothing. shell_exec and write_file work in a " +
	"workspace, /workspace, that belongs to a session: the first such call begins one and returns its session_id; give that to later " +
	"calls, to run_code too, to find the same files again."

// Options say what a [Server] offers.
type Options struct {
	// Tools are the tools. Workspace, Roots and TempDir are each session's own; Artifacts is the server's.
	Tools tools.Tools
	// Dir is an existing directory for the workspaces and for what calls need meanwhile. Nobody else may write to it.
	Dir string
	// Idle is how long a session is kept without a call. 0 means DefaultIdle.
	Idle time.Duration
	// Sessions is how many there may be at a time; a call that would begin one more is refused. 0 means DefaultSessions.
	Sessions int
	// Calls is how many run at a time; others wait. 0 means DefaultCalls.
	Calls int
	// Disk is how many bytes a session's workspace may hold. A call that goes beyond is ended, soon after and not at once; one
	// that writes a file is refused. 0 means DefaultDisk.
	Disk int64
	// Logger receives what operators should know. nil means silence.
	Logger *slog.Logger
}

// Server is an MCP server. It serves any number of clients, on any number of transports.
type Server struct {
	options  Options
	mcp      *mcp.Server
	sessions *sessions
	carriers carriers
	slots    chan struct{}

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	mu   sync.Mutex // orders calls before Close
	live sync.WaitGroup
}

// New makes a server. ctx is for asking the operator's policy what calls may do.
func New(ctx context.Context, o Options) *Server {
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.Sessions <= 0 {
		o.Sessions = DefaultSessions
	}
	if o.Calls <= 0 {
		o.Calls = DefaultCalls
	}
	if o.Disk <= 0 {
		o.Disk = DefaultDisk
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{options: o, slots: make(chan struct{}, o.Calls)}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.sessions = newSessions(o.Dir, o.Idle, o.Sessions, o.Logger)
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "toolcell", Title: "toolcell", Version: version()},
		// The list of tools never changes, and there is no other capability to offer.
		&mcp.ServerOptions{
			Instructions: instructions, Logger: quiet(o.Logger),
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	for _, t := range offered(ctx, o) {
		s.mcp.AddTool(t, s.call)
	}
	return s
}

// version is this module's version, as the program was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// Close ends the calls that are under way, and removes every session's workspace. Calls after it are refused.
func (s *Server) Close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.live.Wait()
	return s.sessions.close()
}

// begin counts a call, until the function that it returns is called. The context ends with the call's own one and with the
// server.
func (s *Server) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, nil, errEnding
	}
	s.live.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		forget()
		cancel()
		s.live.Done()
	}, nil
}

// slot waits until one more call may run.
func (s *Server) slot(ctx context.Context) (func(), error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, canceled(ctx)
	}
}
