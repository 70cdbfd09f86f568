// Package fake is a [sandbox.Backend] with scripted replies and recorded calls, for the tests of everything that stands
// above a backend: the CLI, policy, tools, the MCP server.
//
// It keeps the contract where that needs no sandbox: it validates profiles and commands, refuses a dead context, a
// missing guarantee and a call after Close, caps the output, and fills in what every Result carries. It runs nothing and
// protects from nothing. A call for which no reply is scripted is an error, never a made-up success.
package fake

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/soulacy/toolcell/sandbox"
)

// Name is the name of a Backend whose BackendName is empty.
const Name = "fake"

// Reply is the scripted answer to one call.
type Reply struct {
	// Result is what Run returns. ID, Backend, Enforcement and the output's totals and truncation marks are filled in
	// where they are zero; a zero Status means exited.
	Result sandbox.Result
	// Err, when not nil, is returned in place of a Result.
	Err error
	// Block holds the call until its context ends or the Backend is closed; the Result's status is then canceled.
	Block bool
}

// Call is one recorded call.
type Call struct {
	// Profile and Command are what Run received. Stdin, Stdout and Stderr of the Command are removed.
	Profile sandbox.ContainerProfile
	Command sandbox.Command
	// Stdin is everything that the Command's standard input held.
	Stdin []byte
}

// Backend is the fake. The zero value has no replies and enforces everything. Set its fields before the first call.
type Backend struct {
	// BackendName is what Name returns. "" means "fake".
	BackendName string
	// Report is what Ready answers. nil means that every guarantee is enforced.
	Report sandbox.Report
	// ReadyErr and PrepareErr are returned by Ready (and so by every Run) and Prepare.
	ReadyErr, PrepareErr error
	// Handler, when not nil, answers the calls in place of the script.
	Handler func(Call) Reply

	mu       sync.Mutex
	replies  []Reply
	calls    []Call
	prepared []sandbox.ContainerProfile
	closed   chan struct{}
	running  sync.WaitGroup
	next     int
}

var _ sandbox.Backend = (*Backend)(nil)

// New returns a Backend that answers its calls with replies, in this order.
func New(replies ...Reply) *Backend { return &Backend{replies: replies} }

// Exit is a reply of a program that exited with code after writing stdout and stderr.
func Exit(code int, stdout, stderr string) Reply {
	return Reply{Result: sandbox.Result{
		Status: sandbox.StatusExited, ExitCode: code, Stdout: []byte(stdout), Stderr: []byte(stderr),
	}}
}

// Fail is a reply that is an error.
func Fail(err error) Reply { return Reply{Err: err} }

// Name implements [sandbox.Backend].
func (b *Backend) Name() string {
	if b.BackendName == "" {
		return Name
	}
	return b.BackendName
}

// Ready implements [sandbox.Backend]: the scripted report, and an error when a guarantee that p requires is absent.
func (b *Backend) Ready(_ context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	r := b.report()
	if b.isClosed() {
		return r, refusedClosed("ready")
	}
	if b.ReadyErr != nil {
		return r, b.ReadyErr
	}
	if err := p.Validate(); err != nil {
		return r, err
	}
	return r, r.Check("ready", p.Require)
}

// Prepare implements [sandbox.Backend].
func (b *Backend) Prepare(_ context.Context, p sandbox.ContainerProfile) error {
	if b.isClosed() {
		return refusedClosed("prepare")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prepared = append(b.prepared, p)
	return b.PrepareErr
}

// Run implements [sandbox.Backend].
func (b *Backend) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	done, err := b.begin()
	if err != nil {
		return sandbox.Result{}, err
	}
	defer b.running.Done()
	report, err := b.check(ctx, p, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	call, err := record(p, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	reply, err := b.take(call)
	if err != nil {
		return sandbox.Result{}, err
	}
	if reply.Block {
		select {
		case <-ctx.Done():
		case <-done:
		}
		reply.Result = sandbox.Result{Status: sandbox.StatusCanceled}
	}
	if reply.Err != nil {
		return sandbox.Result{}, reply.Err
	}
	res := b.finish(reply.Result, p, c)
	res.Enforcement = report
	return res, nil
}

// Close implements [sandbox.Backend]: it ends blocked calls and waits for them.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.lazy()
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	b.mu.Unlock()
	b.running.Wait()
	return nil
}

// Calls returns the calls that reached the script, in order. The slice is the caller's own.
func (b *Backend) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Call(nil), b.calls...)
}

// Prepared returns the profiles that Prepare received, in order.
func (b *Backend) Prepared() []sandbox.ContainerProfile {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]sandbox.ContainerProfile(nil), b.prepared...)
}

// begin counts a call as running, unless the Backend is closed.
func (b *Backend) begin() (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lazy()
	select {
	case <-b.closed:
		return nil, refusedClosed("run")
	default:
		b.running.Add(1)
		return b.closed, nil
	}
}

func (b *Backend) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lazy()
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

// lazy makes the zero value useful. The caller holds mu.
func (b *Backend) lazy() {
	if b.closed == nil {
		b.closed = make(chan struct{})
	}
}

// check refuses what a real backend refuses before it starts anything.
func (b *Backend) check(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, &sandbox.Error{Kind: sandbox.KindRefused, Op: "run", Cause: err}
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	report, err := b.Ready(ctx, p)
	if err != nil {
		return nil, err
	}
	if wall := p.WithDefaults().Limits.Wall; c.Timeout > wall {
		return nil, &sandbox.Error{
			Kind: sandbox.KindRefused, Op: "run", Guarantee: sandbox.LimitWall,
			Cause: errors.New(c.Timeout.String() + " is more than the profile's " + wall.String()),
			Fix:   "ask for less",
		}
	}
	return report, nil
}

// record reads the standard input to its end and keeps the call.
func record(p sandbox.ContainerProfile, c sandbox.Command) (Call, error) {
	call := Call{Profile: p, Command: c}
	call.Command.Stdin, call.Command.Stdout, call.Command.Stderr = nil, nil, nil
	if c.Stdin == nil {
		return call, nil
	}
	in, err := io.ReadAll(c.Stdin)
	if err != nil {
		return Call{}, &sandbox.Error{Kind: sandbox.KindSetup, Op: "read stdin", Cause: err}
	}
	call.Stdin = in
	return call, nil
}

// take records call and picks its reply.
func (b *Backend) take(call Call) (Reply, error) {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	n := b.next
	b.next++
	b.mu.Unlock()
	if b.Handler != nil {
		return b.Handler(call), nil
	}
	if n >= len(b.replies) {
		return Reply{}, &sandbox.Error{Kind: sandbox.KindSetup, Op: "run", Cause: errors.New("no reply is scripted for this call")}
	}
	return b.replies[n], nil
}

// finish fills in what every Result carries and hands the output to the Command's writers.
func (b *Backend) finish(r sandbox.Result, p sandbox.ContainerProfile, c sandbox.Command) sandbox.Result {
	limit := p.WithDefaults().Limits.OutputKB << 10
	r.Stdout, r.StdoutBytes, r.StdoutTruncated = deliver(c.Stdout, r.Stdout, r.StdoutBytes, limit)
	r.Stderr, r.StderrBytes, r.StderrTruncated = deliver(c.Stderr, r.Stderr, r.StderrBytes, limit)
	if r.Status == "" {
		r.Status = sandbox.StatusExited
	}
	if r.Status != sandbox.StatusExited {
		r.ExitCode = -1
	}
	if r.ID == "" {
		r.ID = c.ID
	}
	if r.ID == "" {
		r.ID = "fake-call"
	}
	r.Backend = b.Name()
	return r
}

// deliver caps out at limit, writes it to w when there is one, and returns what a Result says about it.
func deliver(w io.Writer, out []byte, total int64, limit int) ([]byte, int64, bool) {
	total = max(total, int64(len(out)))
	out = out[:min(len(out), limit)]
	if w != nil {
		_, _ = w.Write(out) // a writer that fails ends the copying, not the program
	}
	return out, total, total > int64(len(out))
}

func (b *Backend) report() sandbox.Report {
	if b.Report != nil {
		return append(sandbox.Report(nil), b.Report...)
	}
	var r sandbox.Report
	for _, g := range sandbox.Guarantees() {
		r = append(r, sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: "script"})
	}
	return r
}

func refusedClosed(op string) error {
	return &sandbox.Error{Kind: sandbox.KindRefused, Op: op, Cause: errors.New("the backend is closed")}
}
