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
func reap(program uintptr, lifetime int64) {
	var rec Record
	var l lease
	if lifetime > 0 {
		l = lease{end: monotonic() + lifetime, look: firstLook}
	}
	for {
		var status uint32
		pid, errno := await(&status, &l)
		if errno == echild {
			exit(0)
		}
		if errno != 0 || pid != program {
			continue
		}
		rec = Record{Kind: RecordExited, Status: status, Survivors: survivors()}
		usage(&rec)
		send(plan.ChannelFD, &rec)
		if rec.Survivors != 0 {
			attend()
		}
		program = 0 // no process any more, should an orphan get its pid
	}
}

// lease is how long a child may live without being killed. The zero lease has no end.
type lease struct {
	// end is on CLOCK_MONOTONIC.
	end int64
	// look is after how long the other end of the channel is looked at again.
	look int64
}

const (
	firstLook = 10e6 // 10 ms
	lastLook  = 1e9
)

// await waits for a child's end, and ends the process when its lease is over: whoever forked it has not killed it, being
// stopped perhaps. So it does when nobody has the other end of the channel any more. The parent-death signal is sent by
// the end of a thread, and a thread whose end came before the signal was asked for sends none, while others of its
// process, which end a moment later, keep the descriptors open: exit_files() and exit_notify() in kernel/exit.c.
//
// SIGCHLD is blocked, so it waits to be taken also when a child ends between the two calls (sigtimedwait(2)).
//
//go:nosplit
//go:norace
func await(status *uint32, l *lease) (pid uintptr, errno syscall.Errno) {
	if l.end == 0 {
		pid, _, errno = syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(status)), 0, 0, 0, 0)
		return pid, errno
	}
	for {
		pid, _, errno = syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(status)), wnohang, 0, 0, 0)
		if errno != 0 || pid != 0 {
			return pid, errno
		}
		left := l.end - monotonic()
		if left <= 0 {
			exit(ExpiredExit)
		}
		set := uint64(1) << (uint(syscall.SIGCHLD) - 1)
		wait := min(left, l.look)
		ts := syscall.Timespec{Sec: wait / 1e9, Nsec: wait % 1e9}
		_, _, errno = syscall.RawSyscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), 0,
			uintptr(unsafe.Pointer(&ts)), sigsetSize, 0, 0)
		if errno == eagain { // nothing happened
			l.look = min(2*l.look, lastLook)
			if deserted() {
				exit(ExpiredExit)
			}
		}
	}
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
func usage(rec *Record) {
	var ru syscall.Rusage
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETRUSAGE, rusageChildren, uintptr(unsafe.Pointer(&ru)), 0, 0, 0, 0)
	if errno != 0 {
		return
	}
	rec.User = uint64(ru.Utime.Sec)*1e6 + uint64(ru.Utime.Usec)
	rec.System = uint64(ru.Stime.Sec)*1e6 + uint64(ru.Stime.Usec)
}
