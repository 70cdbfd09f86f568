package spawner

import (
	"errors"
	"io"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/supervise"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// The sources of events beside the supervisor's.
const (
	sourceSocket = supervise.Sources + iota
	sourceCaller
)

// loop is the spawner: one thread that waits for the caller, for its calls' inits and for the next deadline. Nothing it
// does can block but the wait itself.
type loop struct {
	*supervise.Supervisor
	// served counts the calls since garbage was collected.
	served int
	// backlog holds replies that a stopped caller had no room for.
	backlog []backlogged
	buf     [512]byte
	oob     [4096]byte
}

type backlogged struct {
	reply wire.Reply
	fd    int
}

func newLoop() (*loop, error) {
	l := &loop{}
	var err error
	if l.Supervisor, err = supervise.New(l.send); err != nil {
		return nil, err
	}
	if err := l.Watch(wire.SocketFD, sourceSocket); err != nil {
		return nil, err
	}
	// The end of the caller's socket may be kept from us by a process that the caller forked; its own end cannot.
	return l, l.Watch(wire.CallerFD, sourceCaller)
}

// run serves until the caller is gone. The process then ends, and its namespace with it.
func (l *loop) run() error {
	var events [64]unix.EpollEvent
	for {
		n, err := l.wait(events[:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for i := range events[:max(n, 0)] {
			if err := l.handle(&events[i]); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		l.Settle()
		if err := l.flush(); err != nil {
			return err
		}
		l.Expire(time.Now())
	}
}

const (
	// attentive is how long a wait keeps the thread to itself before it tells the Go scheduler that it waits.
	attentive = 10 // ms
	// backlogWait is how soon a caller without room is tried again.
	backlogWait = 20 * time.Millisecond
)

// wait waits for events or the next deadline. Telling the scheduler that a thread may block costs more than what a call
// has to do here, since its monitor then wakes up on another CPU, so the first moment is waited without: nothing else
// in this process wants to run. After it, the wait is an ordinary one.
func (l *loop) wait(events []unix.EpollEvent) (int, error) {
	timeout := l.timeout()
	first := attentive
	if timeout >= 0 && timeout < first {
		first = timeout
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.FD()), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(first), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if n > 0 || first == timeout {
		return int(n), nil
	}
	l.collect()
	return unix.EpollWait(l.FD(), events, l.timeout())
}

// timeout is how long to wait for events, in milliseconds; -1 is for ever.
func (l *loop) timeout() int {
	d := l.Timeout(time.Now())
	if len(l.backlog) > 0 && (d == supervise.Never || d > backlogWait) {
		d = backlogWait
	}
	if d == supervise.Never {
		return -1
	}
	return int((d + time.Millisecond - 1) / time.Millisecond) // rounded up: waking a fraction early would only spin
}

// garbageCalls is after how many calls an idle loop collects garbage: some hundred kilobytes.
const garbageCalls = 100

// collect keeps the heap small while there is nothing to do.
func (l *loop) collect() {
	if l.served >= garbageCalls && !l.Busy() {
		l.served = 0
		runtime.GC()
		_ = l.KeepHeapFromForks()
	}
}

// handle serves one event.
func (l *loop) handle(ev *unix.EpollEvent) error {
	switch supervise.Source(ev) {
	case sourceSocket:
		return l.receive()
	case sourceCaller:
		return io.EOF
	default:
		return l.Handle(ev)
	}
}

// receive takes one request from the caller.
func (l *loop) receive() error {
	n, oobn, flags, _, err := unix.Recvmsg(wire.SocketFD, l.buf[:], l.oob[:], unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return nil
	}
	if err != nil {
		return err
	}
	if n == 0 && oobn == 0 {
		return io.EOF
	}
	fds, err := rights(l.oob[:oobn])
	if err != nil {
		return err
	}
	defer closeAll(fds)
	var req wire.Request
	if err := wire.Parse(&req, l.buf[:n]); err != nil {
		return err
	}
	if flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 {
		return l.Refuse(req.ID, wire.StepFork, unix.EMFILE)
	}
	return l.serve(&req, fds)
}

func rights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range msgs {
		f, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			return nil, err
		}
		fds = append(fds, f...)
	}
	return fds, nil
}

func (l *loop) serve(req *wire.Request, fds []int) error {
	switch req.Kind {
	case wire.RequestRun:
		l.served++
		return l.Start(req, fds)
	case wire.RequestRelease:
		return l.Release(req, fds)
	case wire.RequestKill:
		return l.Kill(req.ID)
	case wire.RequestUserNS:
		return l.userNS(req, fds)
	case wire.RequestAlive:
		return l.send(&wire.Reply{Kind: wire.ReplyAlive, ID: req.ID}, -1)
	case wire.RequestSpare:
		return l.makeSpare(req)
	default:
		return unix.EPROTO
	}
}

// makeSpare serves a RequestSpare.
func (l *loop) makeSpare(req *wire.Request) error {
	err := l.MakeSpare()
	if errors.Is(err, supervise.ErrStranded) {
		return err
	}
	r := wire.Reply{Kind: wire.ReplySpare, ID: req.ID}
	if err != nil {
		r.Faulted, r.BySpawner, r.Step, r.Errno = true, true, wire.StepSpare, uint32(supervise.Errno(err))
	}
	return l.send(&r, -1)
}

// userNS serves a RequestUserNS. The caller uses the namespace to id-map a mount, which needs no process in it.
func (l *loop) userNS(req *wire.Request, fds []int) error {
	fd, err := l.UserNS(req, fds)
	r := wire.Reply{Kind: wire.ReplyUserNS, ID: req.ID}
	if err != nil {
		r.Faulted, r.BySpawner, r.Step, r.Errno = true, true, wire.StepMaps, uint32(supervise.Errno(err))
		fd = -1
	}
	return l.send(&r, fd)
}

// send sends a reply and takes over fd, which is -1 for none. A caller without room for it is no reason to wait.
func (l *loop) send(r *wire.Reply, fd int) error {
	l.backlog = append(l.backlog, backlogged{reply: *r, fd: fd})
	return l.flush()
}

// flush sends what the caller has room for, in order.
func (l *loop) flush() error {
	for len(l.backlog) > 0 {
		b := &l.backlog[0]
		var oob []byte
		if b.fd >= 0 {
			oob = unix.UnixRights(b.fd)
		}
		err := unix.Sendmsg(wire.SocketFD, wire.Bytes(&b.reply), oob, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return nil
		}
		if b.fd >= 0 {
			_ = unix.Close(b.fd) // sent or not, it is not needed here
		}
		if err != nil {
			return err
		}
		l.backlog = append(l.backlog[:0], l.backlog[1:]...)
	}
	return nil
}

// closeAll closes descriptors that nobody else knows. An error of close(2) leaves the descriptor closed all the same.
func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
