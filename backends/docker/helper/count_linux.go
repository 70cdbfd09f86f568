package helper

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
)

// usage is what the tree has used so far.
type usage struct {
	user, system time.Duration
	oomKills     int64
	forks        int64
}

// counters are the container's own cgroup files, which engines show read-only. What is nil is not there: another
// kernel (gVisor) shows none.
type counters struct {
	v2              bool
	cpuUser, cpuSys *os.File // v1: nanoseconds; v2: cpuUser is cpu.stat
	oom             *os.File // v1: memory.oom_control; v2: memory.events
	peak            *os.File
	pids            *os.File // pids.events
	pidsPeak        *os.File
}

func openCounters() counters {
	open := func(paths ...string) *os.File {
		for _, p := range paths {
			if f, err := os.Open("/sys/fs/cgroup/" + p); err == nil {
				return f
			}
		}
		return nil
	}
	if f := open("cpu.stat"); f != nil {
		return counters{
			v2: true, cpuUser: f, oom: open("memory.events"), peak: open("memory.peak"), pids: open("pids.events"), pidsPeak: open("pids.peak"),
		}
	}
	return counters{
		cpuUser: open("cpuacct/cpuacct.usage_user", "cpu,cpuacct/cpuacct.usage_user"),
		cpuSys:  open("cpuacct/cpuacct.usage_sys", "cpu,cpuacct/cpuacct.usage_sys"),
		oom:     open("memory/memory.oom_control"), peak: open("memory/memory.max_usage_in_bytes"), pids: open("pids/pids.events"),
	}
}

// usage reads everything.
func (c counters) usage() usage {
	u := c.cpu()
	u.oomKills, u.forks = c.oomKills(), field(c.pids, "max")
	return u
}

// cpu is the CPU time of the cgroup or, without one, of the children that were waited for and of those that live.
func (c counters) cpu() usage {
	switch {
	case c.v2:
		return usage{
			user:   time.Duration(field(c.cpuUser, "user_usec")) * time.Microsecond,
			system: time.Duration(field(c.cpuUser, "system_usec")) * time.Microsecond,
		}
	case c.cpuUser != nil && c.cpuSys != nil:
		return usage{user: time.Duration(whole(c.cpuUser)), system: time.Duration(whole(c.cpuSys))}
	default:
		return treeTimes()
	}
}

func (c counters) oomKills() int64 { return field(c.oom, "oom_kill") }

// fill completes an ending with what was used since base; tasks are init's own.
func (c counters) fill(e *frame.Ending, base usage, tasks int) {
	u := c.usage()
	e.User, e.System = u.user-base.user, u.system-base.system
	e.OOMKills, e.Forks = u.oomKills-base.oomKills, u.forks-base.forks
	if n := whole(c.peak); n > 0 {
		e.MaxMemory = &n
	}
	if n := whole(c.pidsPeak) - int64(tasks); n > 0 {
		e.MaxProcesses = &n
	}
}

// The counters are read at every tick, and then nothing is allocated: a page that init takes while what the kernel has
// killed for memory still gives its own back makes init the next to be killed (Linux, mm/oom_kill.c: a process on its way
// out is no candidate any more, though its memory counts).

// fileBytes is more than any of the counters' files holds.
const fileBytes = 1024

// read fills buf from the beginning of a small file, and returns what was there.
func read(f *os.File, buf []byte) []byte {
	if f == nil {
		return nil
	}
	n, err := syscall.Pread(int(f.Fd()), buf, 0)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// whole is the number that the whole of a file is, or 0.
func whole(f *os.File) int64 {
	var buf [fileBytes]byte
	return number(read(f, buf[:]))
}

// number is what the whole of data says, or 0.
func number(data []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// field is the number behind a name at the beginning of a line of a file, or 0.
func field(f *os.File, name string) int64 {
	var buf [fileBytes]byte
	for data := read(f, buf[:]); len(data) > 0; {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if key, value, _ := bytes.Cut(line, []byte{' '}); string(key) == name {
			return number(value)
		}
		data = rest
	}
	return 0
}

// clockTick is the unit of /proc/PID/stat: USER_HZ is 100 on every architecture that Go runs on (time(7)).
const clockTick = 10 * time.Millisecond

// treeTimes adds what ended children have used to what live processes have.
func treeTimes() usage {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &ru); err != nil {
		return usage{}
	}
	u := usage{user: time.Duration(ru.Utime.Nano()), system: time.Duration(ru.Stime.Nano())}
	alive, err := descendants(os.Getpid())
	if err != nil {
		return u
	}
	for _, pid := range alive {
		f, err := statFields(pid)
		if err != nil {
			continue // it has ended, and is among the children when it was waited for
		}
		// proc_pid_stat(5): utime, stime, cutime, cstime are fields 14 to 17; the state is field 3 and f[0].
		u.user += time.Duration(number([]byte(f[11]))+number([]byte(f[13]))) * clockTick
		u.system += time.Duration(number([]byte(f[12]))+number([]byte(f[14]))) * clockTick
	}
	return u
}
