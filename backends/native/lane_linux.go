package native

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// lane is one spawner and the calls that are under way in it. Whatever becomes of the spawner becomes of its calls:
// they fail with the lane, and no call is ever tried again.
type lane struct {
	conn    *net.UnixConn
	process *process
	// memfdNoexec says that memfds are not executable in the spawner's namespace.
	memfdNoexec bool

	mu      sync.Mutex
	pending map[uint64]chan message
	// waiting are those of them that are armed and wait for their program.
	waiting map[uint64]bool
	failed  error
	// roots are the prepared roots of its namespace.
	roots roots
	// spare says whether the spawner has namespaces ready for a call.
	spare atomic.Int32
	log   *slog.Logger // may be nil
}

// message is a reply with the descriptor that came with it, or the error of a lane that is no more.
type message struct {
	reply wire.Reply
	file  *os.File
	err   error
	// lost says that the lane's process could not be ended either, so the call may still be there.
	lost bool
}

// replies is how many messages one request can get at once: ReplyArmed, ReplyExited, ReplyAlive and ReplyDone, or an error.
const replies = 4

// start sends the call. The replies to an armed one come where those to its arming came.
func (l *lane) start(k *call) (<-chan message, error) {
	if k.armed != nil && k.armed.replies != nil {
		l.mu.Lock()
		delete(l.waiting, k.id)
		l.mu.Unlock()
		return k.armed.replies, l.write(&k.request, k.files)
	}
	return l.request(&k.request, k.files)
}

// request sends a request with descriptors and returns the channel of its replies. The caller keeps its descriptors.
func (l *lane) request(r *wire.Request, files []*os.File) (<-chan message, error) {
	ch := make(chan message, replies)
	if err := l.expect(r.ID, ch); err != nil {
		return nil, err
	}
	if err := l.write(r, files); err != nil {
		l.forget(r.ID, ch)
		return nil, err
	}
	return ch, nil
}

// expect has the replies to a request sent to ch.
func (l *lane) expect(id uint64, ch chan message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.pending[id] = ch
	}
	return l.failed
}

func (l *lane) write(r *wire.Request, files []*os.File) error {
	if err := stamp(r); err != nil {
		return err
	}
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(descriptors(files)...)
	}
	if _, _, err := l.conn.WriteMsgUnix(wire.Bytes(r), oob, nil); err != nil {
		return unavailable("call the spawner", err, "")
	}
	return nil
}

// stamp notes when a request is sent.
func stamp(r *wire.Request) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return unavailable("read the clock", os.NewSyscallError("clock_gettime", err), "")
	}
	r.Sent = now.Nano()
	return nil
}

// kill asks for a call's end. An error means that the lane is gone, and the call with it.
func (l *lane) kill(id uint64) {
	_ = l.write(&wire.Request{Kind: wire.RequestKill, ID: id}, nil)
}

// ask asks for a sign of life. It does not wait for a spawner that takes nothing any more; the lane's end ends it.
func (l *lane) ask(id uint64) {
	go func() { _ = l.write(&wire.Request{Kind: wire.RequestAlive, ID: id}, nil) }()
}

// forget gives up a request, with what has come for it already. What comes later finds nobody.
func (l *lane) forget(id uint64, ch <-chan message) {
	l.mu.Lock()
	delete(l.pending, id)
	delete(l.waiting, id)
	l.mu.Unlock()
	for {
		select {
		case m := <-ch:
			if m.file != nil {
				m.file.Close()
			}
		default:
			return
		}
	}
}

// rest notes that a call waits for its program.
func (l *lane) rest(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending[id] != nil { // as in deliver
		l.waiting[id] = true
	}
}

func (l *lane) noexecMemfds() bool { return l.memfdNoexec }

func (l *lane) busy() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending) - len(l.waiting)
}

func (l *lane) alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed == nil
}

// read hands out replies until the spawner is gone.
func (l *lane) read() {
	var r wire.Reply
	buf := make([]byte, len(wire.Bytes(&r))+1)
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := l.conn.ReadMsgUnix(buf, oob) // descriptors come close-on-exec
		if err == nil && n == 0 {
			err = errors.New("its socket has ended")
		}
		if err == nil {
			err = wire.Parse(&r, buf[:n])
		}
		if err != nil {
			l.fail(err)
			return
		}
		l.deliver(message{reply: r, file: receivedFile(oob[:oobn])})
	}
}

func receivedFile(oob []byte) *os.File {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(msgs) == 0 {
		return nil
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) == 0 {
		return nil
	}
	return os.NewFile(uintptr(fds[0]), "namespace")
}

func (l *lane) deliver(m message) {
	if m.reply.Kind == wire.ReplySpare {
		l.spareMade(m.reply)
		return
	}
	l.mu.Lock()
	ch := l.pending[m.reply.ID]
	switch m.reply.Kind {
	case wire.ReplyExited, wire.ReplyAlive:
	case wire.ReplyArmed:
		if ch != nil { // the lane may have failed meanwhile, and has no calls then
			l.waiting[m.reply.ID] = true
		}
	default:
		delete(l.pending, m.reply.ID)
		delete(l.waiting, m.reply.ID)
	}
	sent := false
	if ch != nil {
		select {
		case ch <- m: // it has room for every reply to one request
			sent = true
		default:
		}
	}
	l.mu.Unlock()
	if !sent && m.file != nil {
		m.file.Close()
	}
}

// fail ends the lane and every call in it. The first cause is what its calls are told: closing the socket makes the
// reader fail too.
func (l *lane) fail(cause error) {
	if !l.giveUp(cause) {
		return
	}
	l.stop()
	err := gone(fmt.Errorf("%w%s", cause, l.epitaph()))
	l.mu.Lock()
	l.failed = err
	pending := l.pending
	l.pending, l.waiting = nil, nil
	l.mu.Unlock()
	for _, ch := range pending {
		ch <- message{err: err, lost: !l.ended()}
	}
}

// giveUp keeps new calls away from the lane while its process ends. It is false when that was done already.
func (l *lane) giveUp(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return false
	}
	l.failed = gone(cause)
	return true
}

func gone(cause error) error {
	return unavailable("call the spawner", fmt.Errorf("the spawner is gone: %w", cause), "try again; a new spawner is started")
}

func (l *lane) epitaph() string {
	if s := l.process.stderr.String(); s != "" {
		return ": " + s
	}
	return ""
}

func (l *lane) ended() bool {
	select {
	case <-l.process.done:
		return true
	default:
		return false
	}
}

func (l *lane) wait(d time.Duration) bool {
	select {
	case <-l.process.done:
		return true
	case <-time.After(d):
		return false
	}
}

// stopGrace is how long a spawner may take to end by itself, and then to be killed.
const stopGrace = 2 * time.Second

// stop ends the spawner and waits for it. Everything in it is killed.
func (l *lane) stop() {
	_ = l.conn.Close()
	if !l.wait(stopGrace) {
		l.process.kill() // stuck; its namespace goes with it
		l.wait(stopGrace)
	}
}
