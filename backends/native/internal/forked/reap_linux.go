package forked

import (
	"syscall"
	"unsafe"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

const (
	eintr          = 4
	echild         = 10
	eagain         = 11
	wnohang        = 1
	peek           = 0x2         // MSG_PEEK (recv(2))
	dontWait       = 0x40        // MSG_DONTWAIT
	clockMonotonic = 1           // CLOCK_MONOTONIC (clock_gettime(2))
	rusageChildren = ^uintptr(0) // RUSAGE_CHILDREN (getrusage(2))
)

// reap waits for the program and for everything that it leaves behind. With the last process gone the child ends, and
// with it the process namespace. It never returns.
//
//go:nosplit
//go:norace
func reap(program uintptr, r *Request) {
	if r.Lifetime > 0 {
		r.own.lease.begin(r.Lifetime)
	}
	for {
		var status uint32
		left := keep(&r.own.lease)
		pid, errno := await(&status, left)
		if errno == echild {
			exit(0)
		}
		if errno != 0 || pid == 0 || pid != program {
			continue
		}
		var rec Record
		rec.Kind, rec.Status, rec.Survivors = RecordExited, status, survivors()
		usage(&rec, &r.own.usage)
		send(plan.ChannelFD, &rec)
		if rec.Survivors != 0 {
			attend()
		}
		program = 0 // no process any more, should an orphan get its pid
	}
}

// lease is how long a child may live without being killed. The zero lease has no end.
type lease struct {
	// end is when it is over, look when the other end of the channel is looked at next, both on CLOCK_MONOTONIC; pause is
	// how long it was not looked at before.
	end, look, pause int64
}

//go:nosplit
//go:norace
func (l *lease) begin(lifetime int64) {
	now := monotonic()
	l.end, l.look, l.pause = now+lifetime, now+firstLook, firstLook
}

const (
	firstLook = 10e6 // 10 ms
	lastPause = 1e9
)

// await waits for a child's end, at most left, unless that is 0; no pid and no errno is no end. SIGCHLD is blocked, so it
// waits to be taken also when a child ends between the two calls (sigtimedwait(2)).
//
//go:nosplit
//go:norace
func await(status *uint32, left int64) (pid uintptr, errno syscall.Errno) {
	options := uintptr(wnohang)
	if left == 0 {
		options = 0
	}
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(status)), options, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	set := uint64(1) << (uint(syscall.SIGCHLD) - 1)
	ts := syscall.Timespec{Sec: left / 1e9, Nsec: left % 1e9}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0,
		uintptr(unsafe.Pointer(&ts)), sigsetSize, 0, 0)
	return 0, 0
}

// keep ends the process when its lease is over, its parent being stopped perhaps, or when nobody has the other end of its
// channel any more. Otherwise it returns how long it need not be called again; 0 is for ever. It comes before every wait,
// or a program that never lets its init run out of children to reap would keep it from ever looking.
//
// The parent-death signal alone is not enough: it is sent by the end of a thread, and a thread whose end came before the
// signal was asked for sends none, while others of its process, which end a moment later, keep the channel open:
// exit_files() and exit_notify() in kernel/exit.c.
//
//go:nosplit
//go:norace
func keep(l *lease) int64 {
	if l.end == 0 {
		return 0
	}
	now := monotonic()
	if now >= l.end {
		exit(ExpiredExit)
	}
	if now >= l.look {
		if deserted() {
			exit(ExpiredExit)
		}
		l.pause = min(2*l.pause, lastPause)
		l.look = now + l.pause
	}
	return min(l.end, l.look) - now
}

// deserted reports whether the other end of the channel is closed. Nothing is sent to a child that has started its
// program, so what is there to be read is the end of it, or that the last records were never read.
//
//go:nosplit
//go:norace
func deserted() bool {
	var b byte
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, plan.ChannelFD, uintptr(unsafe.Pointer(&b)), 1, peek|dontWait, 0, 0)
	return errno != eagain && errno != eintr
}

// monotonic reads CLOCK_MONOTONIC, in nanoseconds.
//
//go:nosplit
//go:norace
func monotonic() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall6(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0)
	return ts.Sec*1e9 + ts.Nsec
}

// survivors reaps what has ended and reports 1 when anything is left.
//
//go:nosplit
//go:norace
func survivors() uint32 {
	for {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), 0, wnohang, 0, 0, 0)
		if errno == echild {
			return 0
		}
		if errno == 0 && pid == 0 {
			return 1
		}
	}
}

// usage adds the CPU time of all reaped processes. A failure leaves zeroes, which count as unknown.
//
//go:nosplit
//go:norace
func usage(rec *Record, ru *syscall.Rusage) {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETRUSAGE, rusageChildren, uintptr(unsafe.Pointer(ru)), 0, 0, 0, 0)
	if errno != 0 {
		return
	}
	rec.User = uint64(ru.Utime.Sec)*1e6 + uint64(ru.Utime.Usec)
	rec.System = uint64(ru.Stime.Sec)*1e6 + uint64(ru.Stime.Usec)
}
