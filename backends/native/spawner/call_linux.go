package spawner

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// call is one sandbox: its init and what the spawner watches of it. Descriptors that are not open are -1.
type call struct {
	id       uint64
	pid      int
	pidfd    int
	channel  int
	cpuFile  int
	oom      int
	mounts   int
	deadline time.Time
	budget   time.Duration
	checkCPU time.Time
	usage    cpuSampler
	// reply is what is known of the end so far; cause is the first reason to kill.
	reply wire.Reply
}

// start serves a RequestRun. It takes over fds.
func (l *loop) start(req *wire.Request, fds []int) error {
	c := &call{id: req.ID, cpuFile: -1, oom: -1, channel: -1, pidfd: -1, mounts: -1, budget: time.Duration(req.CPU)}
	c.reply = wire.Reply{Kind: wire.ReplyDone, ID: req.ID, Waited: monotonic() - req.Sent}
	rest, err := c.takeOwn(req.Flags, fds)
	if err != nil {
		closeAll(fds)
		return l.refuse(req.ID, wire.StepFork, err)
	}
	err = l.fork(c, req, rest)
	if err != nil {
		closeAll(rest)
		c.close()
		return l.refuse(req.ID, wire.StepFork, err)
	}
	// First of all, since init waits for it.
	err = c.identify(req)
	closeAll(rest)
	now := time.Now()
	c.deadline = now.Add(time.Duration(req.Timeout))
	c.checkCPU = now.Add(c.nextCheck(0))
	slot, watched := l.add(c)
	if watched != nil {
		return l.abandon(slot, c, watched)
	}
	if err != nil {
		c.reply.Faulted, c.reply.BySpawner = true, true
		c.reply.Step, c.reply.Errno = wire.StepMaps, uint32(errnoOf(err))
		return l.kill(c, wire.CauseNone)
	}
	return nil
}

// monotonic is the clock that both ends share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // clock_gettime(2) cannot fail for this clock
	}
	return ts.Nano()
}

// takeOwn keeps the descriptors that are for the spawner and returns the rest, which is for init.
func (c *call) takeOwn(flags uint32, fds []int) ([]int, error) {
	own := 0
	for _, f := range []uint32{wire.FlagCPUFile, wire.FlagOOMEvent} {
		if flags&f != 0 {
			own++
		}
	}
	if len(fds) < 2+own || len(fds)-own+2 > plan.MaxFDs {
		return nil, unix.EINVAL
	}
	next := 2
	if flags&wire.FlagCPUFile != 0 {
		c.cpuFile = fds[next]
		next++
	}
	if flags&wire.FlagOOMEvent != 0 {
		c.oom = fds[next]
		next++
	}
	return append(fds[:2:2], fds[next:]...), nil
}

// fork makes the namespaces and the init in them. Init waits on its channel for its identity.
func (l *loop) fork(c *call, req *wire.Request, fds []int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.channel = pair[0]
	var fr forked.Request
	fr.Flags = req.Namespaces
	fr.FDs[0], fr.FDs[1] = int32(pair[1]), int32(l.attention)
	for i, fd := range fds {
		fr.FDs[2+i] = int32(fd)
	}
	fr.N = 2 + len(fds)
	pid, pidfd, errno := l.forker.Fork(&fr)
	_ = unix.Close(pair[1]) // init has its own
	if errno != 0 {
		return errno
	}
	c.pid, c.pidfd = pid, pidfd
	return nil
}

// identify writes the init's identity maps and lets it go on.
func (c *call) identify(req *wire.Request) error {
	if req.Namespaces&unix.CLONE_NEWUSER != 0 {
		proc, err := openProc(c.pid)
		if err != nil {
			return err
		}
		defer unix.Close(proc)
		if err := writeMaps(proc, req); err != nil {
			return err
		}
		if req.Flags&wire.FlagHoldMounts != 0 {
			c.holdMounts(proc)
		}
	}
	err := unix.Sendto(c.channel, []byte{1}, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return nil // init has ended already; its record says why
	}
	return err
}

// holdMounts keeps the mount namespace when its last process ends. Taking it apart makes init's end wait for an RCU grace
// period (namespace_unlock() in fs/namespace.c); held, that happens when the caller lets go of it, off its path. Where
// the kernel does not give it, init waits.
func (c *call) holdMounts(proc int) {
	if fd, err := unix.Openat(proc, "ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		c.mounts = fd
	}
}

// add gives the call a slot and watches it. Its channel is not watched: it is read when init has ended, or asks for it.
func (l *loop) add(c *call) (slot int, err error) {
	slot = len(l.calls)
	if n := len(l.free); n > 0 {
		slot, l.free = l.free[n-1], l.free[:n-1]
		l.calls[slot] = c
	} else {
		l.calls = append(l.calls, c)
	}
	l.byID[c.id] = slot
	err = l.watch(c.pidfd, sourceInit, slot)
	if err == nil && c.oom >= 0 {
		err = l.watch(c.oom, sourceOOM, slot)
	}
	return slot, err
}

// abandon ends a call that cannot be watched, as when somebody with the same uid has used up its epoll watches. The
// others go on.
func (l *loop) abandon(slot int, c *call, cause error) error {
	if err := l.kill(c, wire.CauseNone); err != nil {
		return err
	}
	if _, err := unix.Wait4(c.pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	l.forget(slot, c)
	c.closeMounts()
	return l.refuse(c.id, wire.StepFork, cause)
}

// forget takes an ended call out of the loop.
func (l *loop) forget(slot int, c *call) {
	l.unwatch(&c.pidfd)
	l.unwatch(&c.oom)
	c.close()
	l.calls[slot] = nil
	l.ended = append(l.ended, slot)
	delete(l.byID, c.id)
}

// closeMounts lets go of the mount namespace where no reply takes it along.
func (c *call) closeMounts() {
	if c.mounts >= 0 {
		_ = unix.Close(c.mounts)
		c.mounts = -1
	}
}

// unwatch takes a descriptor out of the epoll set and closes it. Closing alone would not do: the set knows open files,
// not descriptors (epoll(7)), and the caller has the out-of-memory event open too, a child just forked even all of them.
func (l *loop) unwatch(fd *int) {
	if *fd >= 0 {
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, *fd, nil) // only ENOENT, of one that was never watched
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// readRecords takes what init has reported. When the program has ended and others have not, the caller is told, since
// it decides how long to wait for their output.
func (l *loop) readRecords(c *call) error {
	for {
		var rec forked.Record
		buf := unsafe.Slice((*byte)(unsafe.Pointer(&rec)), forked.RecordSize)
		n, _, err := unix.Recvfrom(c.channel, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if errors.Is(err, unix.ECONNRESET) {
			continue // init ended without taking its release; told once, before what it has sent (unix_release_sock())
		}
		if err != nil || n != forked.RecordSize {
			_ = unix.Close(c.channel) // the end, or not one of our inits: its pidfd tells the rest
			c.channel = -1
			return nil
		}
		if err := l.take(c, &rec); err != nil {
			return err
		}
	}
}

func (l *loop) take(c *call, rec *forked.Record) error {
	switch rec.Kind {
	case forked.RecordStarted:
		c.reply.Started = true
	case forked.RecordFault:
		// It comes before what the spawner noticed: an init that failed has no maps to be written any more.
		c.reply.Faulted, c.reply.BySpawner, c.reply.Step, c.reply.Errno = true, false, rec.Step, rec.Errno
	case forked.RecordExited:
		c.reply.Exited, c.reply.Status = true, rec.Status
		c.reply.User, c.reply.System = rec.User, rec.System
		if rec.Survivors != 0 {
			r := c.reply
			r.Kind = wire.ReplyExited
			return l.send(&r, -1)
		}
	}
	return nil
}

// finish reaps an init that has ended and tells the caller. With init its whole process namespace is gone:
// zap_pid_ns_processes() in kernel/pid_namespace.c waits for every process before init can be reaped.
func (l *loop) finish(slot int, c *call) error {
	if c.channel >= 0 {
		if err := l.readRecords(c); err != nil {
			return err
		}
	}
	var status unix.WaitStatus
	pid, err := unix.Wait4(c.pid, &status, unix.WNOHANG|unix.WALL, nil)
	if err != nil || pid == 0 {
		return err
	}
	c.reply.InitStatus = uint32(status)
	l.forget(slot, c)
	return l.send(&c.reply, c.mounts)
}

// kill kills init, and with it everything in its process namespace. The first cause is the one that counts; a program
// that has ended already was not killed by a limit.
func (l *loop) kill(c *call, cause wire.Cause) error {
	if c.channel >= 0 {
		if err := l.readRecords(c); err != nil { // perhaps it has ended by itself just now
			return err
		}
	}
	if c.reply.Cause == wire.CauseNone && !c.reply.Exited {
		c.reply.Cause = cause
	}
	err := unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func (c *call) close() {
	for _, fd := range []*int{&c.pidfd, &c.channel, &c.cpuFile, &c.oom} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}
