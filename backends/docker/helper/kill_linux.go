package helper

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killTree kills every process of the call. As PID 1 init may kill all that it sees (kill(2), pid -1), which nothing
// escapes; in a session only what descends from it.
func (r *run) killTree() {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, unix.SIGKILL) // ESRCH: nobody is left
		return
	}
	// A tree that grows while it is cut is cut again: orphans become init's children, so none is lost from sight.
	for until := time.Now().Add(killGrace); time.Now().Before(until); time.Sleep(time.Millisecond) {
		alive := descendants(os.Getpid())
		if len(alive) == 0 {
			return
		}
		for _, pid := range alive {
			_ = unix.Kill(pid, unix.SIGKILL) // ESRCH: it has ended
		}
	}
	// It forks faster than it can be counted: the whole session goes.
	_ = unix.Kill(-1, unix.SIGKILL)
}

// descendants returns the live processes below pid.
func descendants(pid int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, dead, ok := parentOf(id); ok && !dead {
			children[parent] = append(children[parent], id)
		}
	}
	var out []int
	for next := children[pid]; len(next) > 0; {
		id := next[0]
		next = append(next[1:], children[id]...)
		out = append(out, id)
	}
	return out
}

// parentOf reads the parent and whether the process is a zombie (proc_pid_stat(5)).
func parentOf(pid int) (parent int, dead, ok bool) {
	fields := statFields(pid)
	if len(fields) < 2 {
		return 0, false, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, fields[0] == "Z", err == nil
}

// statFields returns the fields of /proc/PID/stat behind the name, which may hold anything.
func statFields(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}
