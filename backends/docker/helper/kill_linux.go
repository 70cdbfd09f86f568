package helper

import (
	"bytes"
	"errors"
	"fmt"
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
		alive, err := descendants(os.Getpid())
		if err != nil {
			break
		}
		if len(alive) == 0 {
			return
		}
		for _, pid := range alive {
			_ = unix.Kill(pid, unix.SIGKILL) // ESRCH: it has ended
		}
	}
	// It cannot be counted, or forks faster than it can be: everything that runs in the session goes.
	_ = unix.Kill(-1, unix.SIGKILL)
}

// descendants returns the live processes below pid.
func descendants(pid int) ([]int, error) {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		parent, dead, err := parentOf(id)
		if err != nil {
			return nil, err
		}
		if !dead {
			children[parent] = append(children[parent], id)
		}
	}
	var out []int
	for next := children[pid]; len(next) > 0; {
		id := next[0]
		next = append(next[1:], children[id]...)
		out = append(out, id)
	}
	return out, nil
}

// parentOf reads the parent and whether the process is a zombie, or gone (proc_pid_stat(5)).
func parentOf(pid int) (parent int, dead bool, err error) {
	fields, err := statFields(pid)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0] == "Z", err
}

// leastStatFields is how many fields of /proc/PID/stat are used: up to cstime.
const leastStatFields = 15

// statFields returns the fields of /proc/PID/stat behind the name, which may hold anything.
func statFields(pid int) ([]string, error) {
	name := "/proc/" + strconv.Itoa(pid) + "/stat"
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < leastStatFields {
		return nil, fmt.Errorf("%s has %d fields", name, len(fields))
	}
	return fields, nil
}
