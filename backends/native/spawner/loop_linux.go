package spawner

import (
	"errors"
	"io"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// The sources of an epoll event, in the upper half of its data; the lower half is the call's slot.
const (
	sourceSocket = iota
	sourceCaller
	sourceAttention
	sourceInit
	sourceOOM
)

// loop is the spawner: one thread that waits for the caller, for its calls' inits and for the next deadline. Nothing it
// does can block but the wait itself.
type loop struct {
	epoll  int
	forker *forked.Forker
	// attention is an eventfd by which an init has its channel read.
	attention int
	calls     []*call
	byID      map[uint64]int
	// free are the slots without a call. ended are those that became so while a batch of events is served, in which
	// there may be another one for the call that had it.
	free, ended []int
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
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	attention, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	forker, err := forked.NewForker()
	if err != nil {
		return nil, err
	}
	l := &loop{epoll: ep, forker: forker, attention: attention, byID: make(map[uint64]int)}
	if err := l.watch(attention, sourceAttention, 0); err != nil {
		return nil, err
	}
	if err := l.watch(wire.SocketFD, sourceSocket, 0); err != nil {
		return nil, err
	}
	// The end of the caller's socket may be kept from us by a process that the caller forked; its own end cannot.
	return l, l.watch(wire.CallerFD, sourceCaller, 0)
}

func (l *loop) watch(fd, source, slot int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(slot), Pad: int32(source)}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &ev)
}

// run serves until the caller is gone. The process then ends, and its namespace with it.
func (l *loop) run() error {
	var events [64]unix.EpollEvent
	for {
		n, err := l.wait(events[:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, ev := range events[:max(n, 0)] {
			if err := l.handle(int(ev.Pad), int(ev.Fd)); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		l.free, l.ended = append(l.free, l.ended...), l.ended[:0]
		if err := l.flush(); err != nil {
			return err
		}
		l.expire(time.Now())
	}
}

// attentive is how long a wait keeps the thread to itself before it tells the Go scheduler that it waits.
const attentive = 10 // ms

// wait waits for events or the next deadline. Telling the scheduler that a thread may block costs more than what a call
// has to do here, since its monitor then wakes up on another CPU, so the first moment is waited without: nothing else
// in this process wants to run. After it, the wait is an ordinary one.
func (l *loop) wait(events []unix.EpollEvent) (int, error) {
	timeout := l.timeout(time.Now())
	first := attentive
	if timeout >= 0 && timeout < first {
		first = timeout
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(first), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	if n > 0 || first == timeout {
		return int(n), nil
	}
	l.collect()
	return unix.EpollWait(l.epoll, events, l.timeout(time.Now()))
}

// garbageCalls is after how many calls an idle loop collects garbage: some hundred kilobytes.
const garbageCalls = 100

// collect keeps the heap small while there is nothing to do.
func (l *loop) collect() {
	if l.served >= garbageCalls && len(l.byID) == 0 {
		l.served = 0
		runtime.GC()
		keepHeapFromForks(l.forker)
	}
}

// handle serves one event. A call that ended while earlier events of the same batch were served has no slot any more.
func (l *loop) handle(source, slot int) error {
	switch source {
	case sourceSocket:
		return l.receive()
	case sourceCaller:
		return io.EOF
	case sourceAttention:
		return l.attend()
	}
	c := l.calls[slot]
	if c == nil {
		return nil
	}
	switch source {
	case sourceInit:
		return l.finish(slot, c)
	default:
		l.unwatch(&c.oom)
		return l.kill(c, wire.CauseOOM)
	}
}

// attend reads the channels of all calls, since one of their inits asked for it.
func (l *loop) attend() error {
	var count [8]byte
	if _, err := unix.Read(l.attention, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return err
	}
	for _, c := range l.calls {
		if c == nil || c.channel < 0 {
			continue
		}
		if err := l.readRecords(c); err != nil {
			return err
		}
	}
	return nil
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
	var req wire.Request
	if err := wire.Parse(&req, l.buf[:n]); err != nil {
		closeAll(fds)
		return err
	}
	if flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 {
		closeAll(fds)
		return l.refuse(req.ID, wire.StepFork, unix.EMFILE)
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
		return l.start(req, fds)
	case wire.RequestKill:
		closeAll(fds)
		if slot, ok := l.byID[req.ID]; ok {
			return l.kill(l.calls[slot], wire.CauseKilled)
		}
		return nil // it has ended in the meantime
	case wire.RequestUserNS:
		return l.userNS(req, fds)
	default:
		closeAll(fds)
		return unix.EPROTO
	}
}

// refuse answers a request that did not even fork.
func (l *loop) refuse(id uint64, step uint32, err error) error {
	return l.send(&wire.Reply{Kind: wire.ReplyDone, ID: id, Faulted: true, BySpawner: true, Step: step, Errno: uint32(errnoOf(err))}, -1)
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
