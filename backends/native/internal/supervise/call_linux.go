package supervise

import (
	"cmp"
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/forked"
	"github.com/soulacy/toolcell/backends/native/internal/plan"
	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

// call is one sandbox: its init and what is watched of it. Descriptors that are not open are -1.
type call struct {
	id      uint64
	pid     int
	pidfd   int
	channel int
	cpuFile int
	oom     int
	mounts  int
	// deadline is zero while the call is armed and waits.
	deadline time.Time
	budget   time.Duration
	checkCPU time.Time
	usage    cpuSampler
	// armed says that the program comes later than its sandbox; prepares that there is none, only the mounts.
	armed, prepares bool
	// root, while the request is served, is the mount namespace to start from, cgroup the directory of the one to be born in,
	// or -1. They are not the call's own.
	root, cgroup int
	// reply is what is known of the end so far; cause is the first reason to kill.
	reply wire.Reply
}

// Start serves a RequestRun: it forks the sandbox's init and watches it from then on. What keeps the call from being
// made is told like its end; an error is the supervisor's own. The descriptors stay the caller's.
func (s *Supervisor) Start(req *wire.Request, fds []int) error {
	c := newCall(req)
	c.reply = wire.Reply{Kind: wire.ReplyDone, ID: req.ID, Waited: monotonic() - req.Sent}
	rest, err := c.takeOwn(req.Flags, fds)
	if err == nil {
		err = s.fork(c, req, rest)
	}
	if err != nil {
		c.close()
		if errors.Is(err, ErrStranded) {
			return err
		}
		return s.Refuse(req.ID, wire.StepFork, err)
	}
	err = c.identify(req) // first of all, since init waits for it
	if req.Flags&wire.FlagArmed == 0 {
		c.begin(req)
	}
	slot, watched := s.add(c)
	if watched != nil {
		return s.abandon(slot, c, watched)
	}
	if err != nil {
		c.reply.Faulted, c.reply.BySpawner = true, true
		c.reply.Step, c.reply.Errno = wire.StepMaps, uint32(Errno(err))
		return s.kill(c, wire.CauseNone)
	}
	return nil
}

func newCall(req *wire.Request) *call {
	return &call{
		id: req.ID, pidfd: -1, channel: -1, cpuFile: -1, oom: -1, mounts: -1, root: -1, cgroup: -1,
		armed: req.Flags&wire.FlagArmed != 0, prepares: req.Flags&wire.FlagPrepare != 0,
	}
}

// begin starts the clocks. What the sandbox has used before, while it was made, is not the program's.
func (c *call) begin(req *wire.Request) {
	now, used := time.Now(), time.Duration(0)
	if c.armed && req.CPU > 0 {
		used = c.cpuUsed()
	}
	c.budget = used + time.Duration(req.CPU)
	c.deadline = now.Add(time.Duration(req.Timeout))
	c.checkCPU = now.Add(c.nextCheck(used))
}

// Release serves a RequestRelease: it hands the program of an armed call to its init. One that is not there has ended
// in the meantime, and its end has been told.
func (s *Supervisor) Release(req *wire.Request, fds []int) error {
	slot, ok := s.byID[req.ID]
	if !ok {
		return nil
	}
	c := s.calls[slot]
	if !c.armed || !c.deadline.IsZero() {
		return unix.EPROTO
	}
	c.reply.Waited = monotonic() - req.Sent
	c.begin(req)
	if c.channel < 0 {
		c.reply.Untaken = true // init has ended; its pidfd tells the rest
		return nil
	}
	err := unix.Sendmsg(c.channel, []byte{1}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		c.reply.Untaken = true
		return nil
	}
	if err == nil {
		return nil
	}
	c.reply.Faulted, c.reply.BySpawner = true, true
	c.reply.Step, c.reply.Errno = wire.StepRelease, uint32(Errno(err))
	return s.kill(c, wire.CauseNone)
}

// monotonic is the clock that both ends share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // clock_gettime(2) cannot fail for this clock
	}
	return ts.Nano()
}

// takeOwn takes the descriptors that are for the supervisor, and returns the rest, which is for init. Those that are used
// longer than the request it keeps as its own.
func (c *call) takeOwn(flags uint32, fds []int) ([]int, error) {
	var kept []*int
	if flags&wire.FlagCPUFile != 0 {
		kept = append(kept, &c.cpuFile)
	}
	if flags&wire.FlagOOMEvent != 0 {
		kept = append(kept, &c.oom)
	}
	var lent []*int
	if flags&wire.FlagRoot != 0 {
		lent = append(lent, &c.root)
	}
	if flags&wire.FlagCgroup != 0 {
		lent = append(lent, &c.cgroup)
	}
	first := 2 + len(kept)
	end := first + len(lent)
	if flags&wire.FlagCgroup != 0 && len(fds) == end { // there is nothing to join by
		return nil, unix.EINVAL
	}
	if len(fds) < end || 2+2+len(fds)-end > plan.MaxFDs { // init gets its channel and the supervisor's attention, too
		return nil, unix.EINVAL
	}
	for i, to := range kept {
		fd, err := unix.FcntlInt(uintptr(fds[2+i]), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		*to = fd
	}
	for i, to := range lent {
		*to = fds[first+i]
	}
	return append(fds[:2:2], fds[end:]...), nil
}

// fork makes the namespaces and the init in them. Init waits on its channel for its identity.
func (s *Supervisor) fork(c *call, req *wire.Request, fds []int) error {
	pair, err := s.takeChannel(req.Flags)
	if err != nil {
		return err
	}
	c.channel = pair[0]
	var fr forked.Request
	fr.Flags, fr.Lifetime = req.Namespaces, req.Lifetime
	fr.FDs[0], fr.FDs[1] = int32(pair[1]), int32(s.attention)
	for i, fd := range fds {
		fr.FDs[2+i] = int32(fd)
	}
	fr.N = 2 + len(fds)
	s.openNull(c)
	err = s.inside(c.root, func() error { return s.bear(c, &fr) })
	_ = unix.Close(pair[1]) // init has its own
	if req.Flags&wire.FlagSpare != 0 {
		err = cmp.Or(s.leaveSpare(), err) // forked or not, they are used
	}
	return err
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
func (s *Supervisor) add(c *call) (slot int, err error) {
	slot = len(s.calls)
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
		s.calls[slot] = c
	} else {
		s.calls = append(s.calls, c)
	}
	s.byID[c.id] = slot
	err = s.watch(c.pidfd, sourceInit, slot)
	if err == nil && c.oom >= 0 {
		err = s.watch(c.oom, sourceOOM, slot)
	}
	return slot, err
}

// abandon ends a call that cannot be watched, as when somebody with the same uid has used up its epoll watches. The
// others go on.
func (s *Supervisor) abandon(slot int, c *call, cause error) error {
	if err := s.kill(c, wire.CauseNone); err != nil {
		return err
	}
	if _, err := unix.Wait4(c.pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	s.forget(slot, c)
	c.closeMounts()
	return s.Refuse(c.id, wire.StepFork, cause)
}

// forget takes an ended call out of the loop.
func (s *Supervisor) forget(slot int, c *call) {
	s.unwatch(&c.pidfd)
	s.unwatch(&c.oom)
	c.close()
	s.calls[slot] = nil
	s.ended = append(s.ended, slot)
	delete(s.byID, c.id)
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
func (s *Supervisor) unwatch(fd *int) {
	if *fd >= 0 {
		_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, *fd, nil) // only ENOENT, of one that was never watched
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// readRecords takes what init has reported. When the program has ended and others have not, the caller is told, since
// it decides how long to wait for their output.
func (s *Supervisor) readRecords(c *call) error {
	for {
		var rec forked.Record
		buf := unsafe.Slice((*byte)(unsafe.Pointer(&rec)), forked.RecordSize)
		n, _, err := unix.Recvfrom(c.channel, buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return nil
		}
		if errors.Is(err, unix.ECONNRESET) {
			c.reply.Untaken = c.armed
			continue // init ended without taking its release; told once, before what it has sent (unix_release_sock())
		}
		if err != nil || n != forked.RecordSize {
			_ = unix.Close(c.channel) // the end, or not one of our inits: its pidfd tells the rest
			c.channel = -1
			return nil
		}
		if err := s.take(c, &rec); err != nil {
			return err
		}
	}
}

func (s *Supervisor) take(c *call, rec *forked.Record) error {
	switch rec.Kind {
	case forked.RecordArmed:
		r := c.reply
		r.Kind = wire.ReplyArmed
		mounts, err := s.takePrepared(c)
		if err != nil {
			return err
		}
		return s.tell(&r, mounts)
	case forked.RecordStarted:
		c.reply.Started = true
	case forked.RecordFault:
		// It comes before what the supervisor noticed: an init that failed has no maps to be written any more.
		c.reply.Faulted, c.reply.BySpawner, c.reply.Step, c.reply.Errno = true, false, rec.Step, rec.Errno
	case forked.RecordExited:
		c.reply.Exited, c.reply.Status = true, rec.Status
		c.reply.User, c.reply.System = rec.User, rec.System
		if rec.Survivors != 0 {
			r := c.reply
			r.Kind = wire.ReplyExited
			return s.tell(&r, -1)
		}
	}
	return nil
}

// finish reaps an init that has ended and tells the caller. With init its whole process namespace is gone:
// zap_pid_ns_processes() in kernel/pid_namespace.c waits for every process before init can be reaped.
func (s *Supervisor) finish(slot int, c *call) error {
	if c.channel >= 0 {
		if err := s.readRecords(c); err != nil {
			return err
		}
	}
	var status unix.WaitStatus
	pid, err := unix.Wait4(c.pid, &status, unix.WNOHANG|unix.WALL, nil)
	if err != nil || pid == 0 {
		return err
	}
	c.reply.InitStatus = uint32(status)
	c.reply.Untaken = c.reply.Untaken || c.armed && c.deadline.IsZero()
	if c.reply.Cause == wire.CauseNone && !c.reply.Exited && !c.reply.Faulted && status.Exited() && status.ExitStatus() == forked.ExpiredExit {
		c.reply.Cause = wire.CauseTimeout // its own clock was first
	}
	s.forget(slot, c)
	return s.tell(&c.reply, c.mounts)
}

// kill kills init, and with it everything in its process namespace. The first cause is the one that counts; a program
// that has ended already was not killed by a limit.
func (s *Supervisor) kill(c *call, cause wire.Cause) error {
	if c.channel >= 0 {
		if err := s.readRecords(c); err != nil { // perhaps it has ended by itself just now
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
