package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/backends/internal/capture"
	"github.com/soulacy/toolcell/sandbox"
)

const (
	// startTimeout bounds what lies between the start of a container and that of the program.
	startTimeout = 60 * time.Second
	// killGrace is how long init has to end a call that it was asked to end, or whose time is over.
	killGrace = 2 * time.Second
	// exitGrace is how long the engine's command has to end when its container is being removed, or has lost its input.
	exitGrace = 20 * time.Second
)

// ending is how a call ended, as far as it could be found out.
type ending struct {
	// report is init's; nil when the container ended without one.
	report *frame.Ending
	// canceled says that the caller's context ended first.
	canceled bool
	// late says that init did not keep the deadline.
	late bool
	// oom says that the engine saw the kernel kill something for memory.
	oom bool
	// status is the exit status of the engine's command.
	status int
	// gone says that the container has certainly been removed.
	gone bool

	stdout, stderr *capture.Stream
}

// attachment is the engine's command that carries a call's streams.
type attachment struct {
	// mu is held while a frame of init's is taken, and while the attachment becomes a call's.
	mu      sync.Mutex
	k       *call
	request []byte
	parser  frame.Parser
	stdout  *capture.Stream
	stderr  *capture.Stream
	said    *tail
	// exited gets how the engine's command ended; abandon ends it.
	exited  chan exit
	abandon context.CancelFunc

	// compare, when not nil, has to succeed once init is there, before it is sent anything.
	compare func(context.Context) error
	here    chan struct{} // holds what init said of it and nobody has taken
	started chan struct{}
	failure *frame.Failure
	report  *frame.Ending

	in     *io.PipeWriter
	window *window
	begin  time.Time
	kills  int64 // what memoryKills said then
	// sending is held while a frame is sent; when over, the last one has been.
	sending sync.Mutex
	over    bool
}

func newAttachment(k *call, request []byte) *attachment {
	a := &attachment{said: &tail{}, exited: make(chan exit, 1), here: make(chan struct{}, 1), started: make(chan struct{}), window: newWindow()}
	a.parser.Handle = a.handle
	a.carry(k, request)
	return a
}

// carry makes the attachment a call's, which can be done until the call is sent.
func (a *attachment) carry(k *call, request []byte) {
	limit := k.profile.Limits.OutputKB << 10
	a.mu.Lock()
	defer a.mu.Unlock()
	a.k, a.request, a.begin, a.kills = k, request, time.Now(), memoryKills()
	a.stdout, a.stderr = capture.New(limit, k.command.Stdout), capture.New(limit, k.command.Stderr)
}

// handle takes one frame of init's.
func (a *attachment) handle(t frame.Type, data []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch t {
	case frame.Stdout:
		_, _ = a.stdout.Write(data)
	case frame.Stderr:
		_, _ = a.stderr.Write(data)
	case frame.Window:
		if len(data) == 4 {
			a.window.give(int(binary.BigEndian.Uint32(data)))
		}
	case frame.InputClosed:
		a.window.close()
	case frame.Here:
		select {
		case a.here <- struct{}{}:
		default:
			return errors.New("init says unasked that it is there")
		}
	case frame.Started:
		return closeOnce(a.started)
	case frame.Fault:
		a.failure = &frame.Failure{}
		go a.finish()
		return frame.Decode(data, a.failure)
	case frame.Result:
		a.report = &frame.Ending{}
		if a.k.command.Stdin != nil {
			go a.finish()
		}
		return frame.Decode(data, a.report)
	default:
		return fmt.Errorf("init does not say %q", string(t))
	}
	return nil
}

// closeOnce closes a channel that only this goroutine closes.
func closeOnce(ch chan struct{}) error {
	select {
	case <-ch:
		return errors.New("init says the same twice")
	default:
		close(ch)
		return nil
	}
}

// exit is how the engine's command ended.
type exit struct {
	status int
	err    error
}

// start starts the container by args. Not ctx ends the command, but abandon does: a client that is killed leaves behind what
// the engine still does.
func (a *attachment) start(ctx context.Context, args []string) {
	own, abandon := context.WithCancel(context.WithoutCancel(ctx))
	read, write := io.Pipe()
	a.in, a.abandon = write, abandon
	client := a.k.b.client
	go func() {
		status, err := client.Run(own, Invocation{Args: args, Stdin: read, Stdout: &a.parser, Stderr: a.said})
		read.CloseWithError(io.ErrClosedPipe) // whoever still writes is told
		a.exited <- exit{status, err}
	}()
}

// run moves the call's streams until the command that was started has ended.
func (a *attachment) run(ctx context.Context) (ending, error) {
	defer a.abandon()
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	refused := make(chan error, 1)
	go a.talk(own, refused)
	end, x := a.await(ctx)
	a.window.close()
	end.status, end.report = x.status, a.report
	end.stdout, end.stderr = a.stdout, a.stderr
	killed := end.canceled || end.late || a.report != nil && a.report.Cause != frame.CauseNone
	capture.Settle(ctx, killed, a.stdout, a.stderr)
	end.gone = x.err == nil && (a.report != nil || a.failure != nil)
	select {
	case err := <-refused:
		return end, err
	default:
	}
	return end, a.outcome(ctx, &end, x)
}

// outcome says why there is no result.
func (a *attachment) outcome(ctx context.Context, end *ending, x exit) error {
	if a.failure != nil {
		return a.k.fault(a.failure)
	}
	if a.report == nil {
		return a.unreported(ctx, end, x)
	}
	return nil
}

// talk sends what init reads, once the container is known to be what was asked for.
func (a *attachment) talk(ctx context.Context, refused chan<- error) {
	if a.compare != nil {
		select {
		case <-a.here:
		case <-ctx.Done():
			return
		}
		if err := a.compare(ctx); err != nil {
			refused <- err
			_ = a.in.Close() // init ends with its input
			return
		}
	}
	a.feed()
}

// await waits for the command's end and keeps it from being late.
func (a *attachment) await(ctx context.Context) (ending, exit) {
	var end ending
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	started, canceled := (<-chan struct{})(a.started), ctx.Done()
	removing := false
	for {
		select {
		case x := <-a.exited:
			return end, x
		case <-started:
			started = nil
			limit.Reset(a.k.timeout() + killGrace)
		case <-canceled:
			canceled = nil
			end.canceled = true
			go a.kill()
			limit.Reset(killGrace)
		case <-limit.C:
			if removing {
				a.abandon() // the engine's command does not end: the container is tried again by name
				continue
			}
			removing = true
			end.late = started == nil && !end.canceled
			go a.k.b.removeOnce(context.WithoutCancel(ctx), a.k.box.name)
			limit.Reset(exitGrace)
		}
	}
}

// send sends a frame, unless the last one has been sent.
func (a *attachment) send(data []byte) error {
	a.sending.Lock()
	defer a.sending.Unlock()
	if a.over {
		return io.ErrClosedPipe
	}
	_, err := a.in.Write(data)
	return err
}

// kill asks init to end the call. Whether it still hears it does not matter: the container is removed after a while.
func (a *attachment) kill() { _ = a.send(frame.Append(nil, frame.Kill, nil)) }

// finish tells init that it has been heard, and lets nothing follow.
func (a *attachment) finish() {
	a.window.close()
	a.sending.Lock()
	defer a.sending.Unlock()
	a.over = true
	_, _ = a.in.Write(frame.Append(nil, frame.Done, nil)) // without it init ends a little later
}

// feed sends the request and then the call's input. A program that does not read to the end is no error, and neither is
// a caller's reader that fails: the program sees the end of its input, as with os/exec.
func (a *attachment) feed() {
	if err := a.send(a.request); err != nil {
		return
	}
	if a.k.command.Stdin == nil {
		return
	}
	buf := make([]byte, frame.HeaderSize+frame.MaxData)
	for {
		n, err := a.k.command.Stdin.Read(buf[frame.HeaderSize:])
		if n > 0 {
			if !a.window.take(n) {
				return
			}
			frame.PutHeader(buf, frame.Input, n)
			if err := a.send(buf[:frame.HeaderSize+n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = a.send(frame.Append(nil, frame.InputEnd, nil)) // it fails only at the command's end
			return
		}
	}
}

// unreported says why a container ended without a report of init's.
func (a *attachment) unreported(ctx context.Context, end *ending, x exit) error {
	if end.canceled || end.late {
		return nil
	}
	cause := fmt.Errorf("the container ended without a report, and the engine's command with status %d", x.status)
	switch {
	case x.err != nil:
		cause = x.err
	case a.said.String() != "":
		cause = errors.New(a.said.String())
	case a.parser.Unfinished():
		cause = errors.New("the container's output is not init's")
	}
	select {
	case <-a.started:
	default:
		return a.k.b.engineError(ctx, a.k.profile.Image, &sandbox.Error{Kind: sandbox.KindSetup, Op: "start the container", Cause: cause})
	}
	if _, err := a.k.b.engines.ask(context.WithoutCancel(ctx), a.k.b.client); err != nil {
		return &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "run", Cause: fmt.Errorf("the engine went away during the call: %w", err), Fix: "start the engine, and call again if the program may run twice"}
	}
	if x.status == killedStatus {
		// Something outside killed it, or the kernel for its memory.
		end.oom = a.k.b.outOfMemory(context.WithoutCancel(ctx), a.k, a.begin, a.kills)
		return nil
	}
	return &sandbox.Error{Kind: sandbox.KindSetup, Op: "run", Cause: cause}
}

// window is how much input may still be sent.
type window struct {
	mu      sync.Mutex
	changed *sync.Cond
	left    int
	closed  bool
}

func newWindow() *window {
	w := &window{left: frame.InputWindow}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// take waits until n bytes may be sent; false says that nobody wants them.
func (w *window) take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.left < n && !w.closed {
		w.changed.Wait()
	}
	w.left -= n
	return !w.closed
}

func (w *window) give(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left += n
	w.changed.Signal()
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.changed.Signal()
}
