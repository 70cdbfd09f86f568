package supervise

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
	all := processes()
	var sum time.Duration
	for _, pid := range below(all, init) {
		sum += all[pid].time
	}
	s.seen = max(s.seen, sum)
	return s.seen
}

// process is what /proc/PID/stat tells: the parent, and the time of the process and of the children it has waited for.
type process struct {
	parent int
	time   time.Duration
}

// processes reads every process of this process namespace. In a spawner's they are its sandboxes'; without a spawner the
// rest of the machine is among them.
func processes() map[int]process {
	out := make(map[int]process)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return out
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(data); ok {
			out[pid] = p
		}
	}
	return out
}

// below lists init and everything that comes from it. A sandbox's processes cannot leave its tree: orphans become
// init's children.
func below(all map[int]process, init int) []int {
	children := make(map[int][]int, len(all))
	for pid, p := range all {
		children[p.parent] = append(children[p.parent], pid)
	}
	tree := []int{init}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}

// parseStat reads fields 4 and 14 to 17 of /proc/PID/stat (proc_pid_stat(5)), which follow the command's name in
// parentheses; the name may hold anything.
func parseStat(data []byte) (process, bool) {
	i := bytes.LastIndexByte(data, ')')
	if i < 0 {
		return process{}, false
	}
	fields := bytes.Fields(data[i+1:])
	if len(fields) < 15 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return process{}, false
	}
	var ticks int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return process{}, false
		}
		ticks += n
	}
	return process{parent: parent, time: time.Duration(ticks) * clockTick}, true
}
