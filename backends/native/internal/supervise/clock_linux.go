package supervise

import (
	"bytes"
	"math"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/wire"
)

const (
	// minCheck bounds how often CPU usage is read, and so how far a call may exceed its budget: by this much on every
	// core it has.
	minCheck = 10 * time.Millisecond
	// longest is the longest wait for a time that is far away; epoll_wait(2) takes an int of milliseconds.
	longest = time.Hour
	// Never is a wait that ends by an event only.
	Never time.Duration = -1
)

// Timeout is how long to wait for events: until the next deadline or CPU check, or [Never].
func (s *Supervisor) Timeout(now time.Time) time.Duration {
	var next time.Time
	for _, c := range s.calls {
		if c == nil || c.deadline.IsZero() {
			continue
		}
		for _, t := range []time.Time{c.deadline, c.checkCPU} {
			if next.IsZero() || t.Before(next) {
				next = t
			}
		}
	}
	if next.IsZero() {
		return Never
	}
	return max(0, min(next.Sub(now), longest))
}

// Expire kills what has reached its deadline or used up its CPU time.
func (s *Supervisor) Expire(now time.Time) {
	for _, c := range s.calls {
		if c == nil || c.deadline.IsZero() {
			continue
		}
		if !now.Before(c.deadline) {
			c.deadline = now.Add(time.Second) // killed again should the first try not do
			_ = s.kill(c, wire.CauseTimeout)  // an error leaves the next try
		}
		if !now.Before(c.checkCPU) {
			used := c.cpuUsed()
			if used >= c.budget {
				_ = s.kill(c, wire.CauseCPU)
			}
			c.checkCPU = now.Add(c.nextCheck(used))
		}
	}
}

// nextCheck is when the budget can be used up at the earliest, with every core of the machine at work.
func (c *call) nextCheck(used time.Duration) time.Duration {
	if c.budget <= 0 {
		return 365 * 24 * time.Hour
	}
	return max(minCheck, (c.budget-used)/time.Duration(runtime.NumCPU()))
}

// cpuUsed is the CPU time of the whole call: what its cgroup counted, or what its processes add up to.
func (c *call) cpuUsed() time.Duration {
	if c.cpuFile < 0 {
		return c.usage.sample(c.pid)
	}
	var buf [256]byte
	n, err := unix.Pread(c.cpuFile, buf[:], 0)
	if err != nil {
		return c.budget // unreadable: the limit cannot be kept any more, so it is reached
	}
	used, ok := parseCPU(buf[:n])
	if !ok {
		return c.budget
	}
	return used
}

// parseCPU reads cgroup v1's cpuacct.usage, a number of nanoseconds, or the first line of cgroup v2's cpu.stat,
// "usage_usec N". Documentation/admin-guide/cgroup-v{1/cpuacct,2}.rst.
func parseCPU(data []byte) (time.Duration, bool) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	unit := time.Nanosecond
	if rest, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
		line, unit = rest, time.Microsecond
	}
	n, err := strconv.ParseInt(string(line), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}
