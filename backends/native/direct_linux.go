package native

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/internal/inflight"
	"github.com/soulacy/toolcell/backends/native/internal/supervise"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// direct is a process that makes its calls itself, from its main thread. Starting a spawner costs such a process more
// than the call; what a spawner is for besides, init does itself then: it dies with the thread that forked it, and has a
// clock of its own, should this process be stopped.
type direct struct {
	process    ownProcess
	supervisor *supervise.Supervisor
	// events is the supervisor's descriptor as the Go runtime waits on it.
	events *os.File

	mu      sync.Mutex // of the supervisor
	replies map[uint64]chan message
	serving bool
	failed  error
}

// ownProcess is what a direct call needs to know of the process that makes it.
type ownProcess struct {
	identity identity
	// ignored are the signals that are ignored, which a child inherits.
	ignored []int
	// memfdSysctl, unless it is nil, is the open vm.memfd_noexec, which init sets for its own process namespace.
	memfdSysctl *os.File
	// memfdNoexec says that memfds will not be executable.
	memfdNoexec bool
}

// newDirect returns nil when this thread is not what a direct call needs. status is this process's, see [ownStatus].
func newDirect(id identity, status []byte) (*direct, error) {
	if !onMainThread() {
		return nil, nil
	}
	d := &direct{replies: make(map[uint64]chan message)}
	var err error
	if d.supervisor, err = supervise.New(d.tell); err != nil {
		return nil, unavailable("prepare a call", err, "")
	}
	if d.events, err = waitable(d.supervisor.FD()); err != nil {
		d.supervisor.Close()
		return nil, unavailable("prepare a call", err, "")
	}
	d.process = ownProcess{identity: id, ignored: ignoredSignals(status)}
	d.process.findMemfdSysctl()
	return d, nil
}

func onMainThread() bool { return unix.Gettid() == os.Getpid() }

// waitable duplicates a descriptor as a file that the Go runtime waits on.
func waitable(fd int) (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or it would read it as a file of a disk
		unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), "events"), nil
}

// ownStatus reads what /proc says of this process. A /proc of another process namespace is refused: the ids in it are
// other processes', and a sandbox's identity maps would be written to one of those. Its status file gives this process
// an id for each namespace from that /proc's on (NSpid, proc_pid_status(5)); a kernel without such namespaces gives none.
func ownStatus() ([]byte, error) {
	const fix = "mount the proc file system of this process namespace at /proc (unshare --mount-proc)"
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, unavailable("open native", err, fix)
	}
	ids := bytes.Fields(statusField(status, "NSpid:"))
	if len(ids) > 1 || len(ids) == 1 && string(ids[0]) != fmt.Sprint(os.Getpid()) {
		return nil, unavailable("open native", fmt.Errorf("/proc is another process namespace's: this process is %s there and %d here", ids[0], os.Getpid()), fix)
	}
	return status, nil
}

// ignoredSignals reads the mask of ignored signals, a hexadecimal number (proc_pid_status(5)). What cannot be read
// counts as all of them.
func ignoredSignals(status []byte) []int {
	var mask uint64
	if _, err := fmt.Sscanf(string(statusField(status, "SigIgn:")), "%x", &mask); err != nil {
		mask = ^uint64(0)
	}
	var out []int
	for sig := 1; sig <= 64; sig++ {
		if mask&(1<<(sig-1)) != 0 && sig != int(unix.SIGKILL) && sig != int(unix.SIGSTOP) {
			out = append(out, sig)
		}
	}
	return out
}

func statusField(status []byte, name string) []byte {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return bytes.TrimSpace(line)
}

// memfdSysctl makes memfds without an explicit flag not executable in a process namespace and those below it (Linux 6.3).
// Its file belongs to the host's root.
const memfdSysctl = "/proc/sys/vm/memfd_noexec"

// findMemfdSysctl finds out whether memfds are not executable here, which a new namespace inherits, or can be made so.
func (p *ownProcess) findMemfdSysctl() {
	if data, err := os.ReadFile(memfdSysctl); err == nil && len(data) > 0 && data[0] >= '1' {
		p.memfdNoexec = true
		return
	}
	if !p.identity.root {
		return
	}
	if f, err := os.OpenFile(memfdSysctl, os.O_WRONLY, 0); err == nil {
		p.memfdSysctl, p.memfdNoexec = f, true
	}
}

func (d *direct) noexecMemfds() bool { return d.process.memfdNoexec }

// outside are the ids that a sandbox at offset has in this process's namespace.
func (d *direct) outside(offset uint32) (uid, gid uint32) {
	id := d.process.identity
	if id.root {
		return id.base + offset, id.base + offset
	}
	return id.base, uint32(os.Getegid())
}

// start forks the call's init. It must be called on the main thread, with which init dies.
func (d *direct) start(k *call) (<-chan message, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return nil, err
	}
	if err := d.supervisor.KeepHeapFromForks(); err != nil {
		return nil, unavailable("keep this process's memory from its sandbox", err, "")
	}
	if err := stamp(&k.request); err != nil {
		return nil, err
	}
	ch := make(chan message, replies)
	d.replies[k.id] = ch
	if err := d.supervisor.Start(&k.request, descriptors(k.files)); err != nil {
		d.giveUp(err) // there may be an init that could not even be killed
	}
	d.serve()
	return ch, nil
}

// usable returns why nothing can be forked, if so. The lock is held.
func (d *direct) usable() error {
	if d.failed == nil && !onMainThread() {
		return unavailable("start a call", errors.New("it is not made from the process's main thread"),
			"lock the main goroutine to its thread in an init function (runtime.LockOSThread), or leave Config.Direct off")
	}
	return d.failed
}

func descriptors(files []*os.File) []int {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return fds
}

// tell hands out a reply. The supervisor calls it, so the lock is held.
func (d *direct) tell(r *wire.Reply, mounts int) error {
	m := message{reply: *r}
	if mounts >= 0 {
		m.file = os.NewFile(uintptr(mounts), "namespace")
	}
	ch := d.replies[r.ID]
	if r.Kind == wire.ReplyDone {
		delete(d.replies, r.ID)
	}
	if ch != nil {
		ch <- m // it has room for every reply to one request
	} else if m.file != nil {
		m.file.Close()
	}
	return nil
}

// serve sees to it that events are served while there are calls.
func (d *direct) serve() {
	if d.serving || len(d.replies) == 0 {
		return
	}
	d.serving = true
	go d.loop()
}

// loop serves events until no call is left.
func (d *direct) loop() {
	for {
		d.mu.Lock()
		if len(d.replies) == 0 {
			d.serving = false
			d.mu.Unlock()
			return
		}
		wait := d.supervisor.Timeout(time.Now())
		d.mu.Unlock()
		if err := d.step(wait); err != nil {
			d.fail(err)
			return
		}
	}
}

// step waits for events, at most wait, and serves them and what is due.
func (d *direct) step(wait time.Duration) error {
	var until time.Time
	if wait != supervise.Never {
		until = time.Now().Add(wait)
	}
	if err := d.events.SetReadDeadline(until); err != nil {
		return err
	}
	conn, err := d.events.SyscallConn()
	if err != nil {
		return err
	}
	var events [16]unix.EpollEvent
	var n int
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		n, failed = unix.EpollWait(int(fd), events[:], 0) // which, not waiting, is not interrupted either
		return n != 0
	})
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if failed != nil && n < 0 {
		return os.NewSyscallError("epoll_wait", failed)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil {
		return d.failed // given up or closed since
	}
	for i := range events[:max(n, 0)] {
		if err := d.supervisor.Handle(&events[i]); err != nil {
			return err
		}
	}
	d.supervisor.Settle()
	d.supervisor.Expire(time.Now())
	return nil
}

// kill asks for a call's end. An error leaves it to the deadline, which tries again.
func (d *direct) kill(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.supervisor.Kill(id)
}

// ask gives the sign of life as soon as events are not being served.
func (d *direct) ask(id uint64) {
	go func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		_ = d.tell(&wire.Reply{Kind: wire.ReplyAlive, ID: id}, -1) // it only hands out
	}()
}

// fail gives up every call. Their processes end with this one at the latest.
func (d *direct) fail(cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveUp(cause)
}

// giveUp is fail with the lock held.
func (d *direct) giveUp(cause error) {
	if d.failed != nil {
		return
	}
	d.failed = unavailable("watch a call", cause, "")
	for id, ch := range d.replies {
		_ = d.supervisor.Kill(id)
		ch <- message{err: d.failed, lost: true}
	}
	d.replies = nil
}

func (d *direct) busy() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.replies)
}

// userNS makes a user namespace that maps the id inside to the one outside.
func (d *direct) userNS(r *wire.Request, waiting *os.File) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return nil, err
	}
	fd, err := d.supervisor.UserNS(r, descriptors([]*os.File{waiting, waiting}))
	if err != nil {
		return nil, startError(err)
	}
	return os.NewFile(uintptr(fd), "namespace"), nil
}

// close gives the descriptors back. It waits for the events that are being served.
func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = cmp.Or(d.failed, inflight.Closed())
	if d.process.memfdSysctl != nil {
		d.process.memfdSysctl.Close()
	}
	d.events.Close()
	d.supervisor.Close()
}

// lifetimeSlack is how long after its deadline an init ends by itself, when nobody has killed it.
const lifetimeSlack = time.Second

// direct adds what an init does itself that a spawner would do otherwise.
func (k *call) direct(d *direct) {
	k.request.Lifetime = int64(k.timeout() + lifetimeSlack)
	if k.b.ids == nil {
		k.request.Flags |= wire.FlagDenySetgroups
	}
	k.spec.Direct, k.spec.Ignored = true, d.process.ignored
}
