package spawner

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
	// backlogWait is how soon a caller without room is tried again.
	backlogWait = 20 * time.Millisecond
	// longest is the longest wait for a time that is far away; epoll_wait(2) takes an int of milliseconds.
	longest = time.Hour
	// never is a wait that ends by an event only.
	never = -1
)

// timeout is how long to wait for events, in milliseconds: until the next deadline or CPU check.
func (l *loop) timeout(now time.Time) int {
	var next time.Time
	for _, c := range l.calls {
		if c == nil {
			continue
		}
		for _, t := range []time.Time{c.deadline, c.checkCPU} {
			if next.IsZero() || t.Before(next) {
				next = t
			}
		}
	}
	if len(l.backlog) > 0 && (next.IsZero() || next.After(now.Add(backlogWait))) {
		next = now.Add(backlogWait)
	}
	if next.IsZero() {
		return never
	}
	// Rounded up: waking a fraction early would only spin.
	return int(max(0, (min(next.Sub(now), longest)+time.Millisecond-1)/time.Millisecond))
}

// expire kills what has reached its deadline or used up its CPU time.
func (l *loop) expire(now time.Time) {
	for _, c := range l.calls {
		if c == nil {
			continue
		}
		if !now.Before(c.deadline) {
			c.deadline = now.Add(time.Second) // killed again should the first try not do
			_ = l.kill(c, wire.CauseTimeout)  // an error leaves the next try
		}
		if !now.Before(c.checkCPU) {
			used := c.cpuUsed()
			if used >= c.budget {
				_ = l.kill(c, wire.CauseCPU)
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
