package spawner

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// cpuSampler adds up the CPU time of a process tree from /proc, for calls without a cgroup. A process that is reaped
// gives its time to its parent, and the last parent is init, so a tree that waits for its children hides nothing. One
// that ignores SIGCHLD does: its children's time is kept only as far as it was seen.
type cpuSampler struct {
	// seen is the highest sum so far: time that was once used stays used.
	seen time.Duration
}

// clockTick is the unit of the times in /proc/PID/stat. USER_HZ is 100 on every architecture that this builds for
// (include/uapi/asm-generic/param.h).
const clockTick = time.Second / 100

// sample returns the CPU time of the tree below init, never less than before.
func (s *cpuSampler) sample(init int) time.Duration {
	var sum time.Duration
	for _, pid := range tree(init) {
		sum += processTime(pid)
	}
	s.seen = max(s.seen, sum)
	return s.seen
}

// tree lists init and everything below it. A sandbox's processes cannot leave it: orphans become init's children.
func tree(init int) []int {
	pids := []int{init}
	for i := 0; i < len(pids); i++ {
		dir := "/proc/" + strconv.Itoa(pids[i]) + "/task"
		tasks, err := os.ReadDir(dir)
		if err != nil {
			continue // it has ended
		}
		for _, t := range tasks {
			data, err := os.ReadFile(dir + "/" + t.Name() + "/children") //nolint:gosec // numbers of /proc
			if err != nil {
				continue
			}
			for _, f := range bytes.Fields(data) {
				if pid, err := strconv.Atoi(string(f)); err == nil {
					pids = append(pids, pid)
				}
			}
		}
	}
	return pids
}

// processTime is the time of a process and of the children it has waited for: fields 14 to 17 of /proc/PID/stat
// (proc_pid_stat(5)), which follow the command's name in parentheses.
func processTime(pid int) time.Duration {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	i := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[i+1:])
	if i < 0 || len(fields) < 15 {
		return 0
	}
	var ticks int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}
