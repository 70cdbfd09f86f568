package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc, USER_HZ, which is 100 on every architecture that Go supports (proc(5)).
const userHZ = 100

// cpuClock is how much CPU time has been used so far.
type cpuClock struct {
	// tree is this process, all its children that it has waited for, and those alive with their descendants.
	tree time.Duration
	// busy is the whole machine; stolen is what its host gave to others.
	busy, stolen, total time.Duration
}

// readCPU reads the clock. A live process's share has a resolution of 10 ms, so only long intervals mean something.
func readCPU() (cpuClock, error) {
	var c cpuClock
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			return c, fmt.Errorf("getrusage: %w", err)
		}
		c.tree += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	pids, err := descendants()
	if err != nil {
		return c, err
	}
	for _, pid := range pids {
		d, err := processCPU(pid)
		if err != nil && !gone(err) { // its time has then been taken by who waited for it
			return c, err
		}
		c.tree += d
	}
	return c, c.readMachine()
}

// gone reports whether a process ended while it was read.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// descendants lists the children of this process that have not been waited for, theirs, and so on. Between calls these
// are spawners and engines' daemons.
func descendants() ([]string, error) {
	all, err := children()
	for i := 0; err == nil && i < len(all); i++ {
		var more []string
		more, err = childrenOf(all[i])
		all = append(all, more...)
	}
	return all, err
}

// children lists the children of this process that have not been waited for.
func children() ([]string, error) { return childrenOf("self") }

func childrenOf(pid string) ([]string, error) {
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		return nil, err
	}
	var pids []string
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range bytes.Fields(b) {
			pids = append(pids, string(pid))
		}
	}
	return pids, nil
}

// adopt makes this process the parent of its descendants' orphans, or ends that. bwrap answers before its PID 1 has
// ended, and leaves it and most of its CPU time to whoever adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER).
func adopt(on bool) error {
	var value uintptr
	if on {
		value = 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// reap waits for the children that have ended. No call may be under way that waits for its own.
func reap() error {
	pids, err := children()
	if err != nil {
		return err
	}
	for _, s := range pids {
		pid, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("reap orphans: %w", err)
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return fmt.Errorf("reap orphans: %w", err)
		}
	}
	return nil
}

// processCPU reads a process's times and those of the children that it has waited for: fields 14 to 17 of its stat.
func processCPU(pid string) (time.Duration, error) {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a child: %w", err)
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const first = 14 - 3 // the name, which may hold anything, is field 2
	if len(fields) < first+4 {
		return 0, fmt.Errorf("read the CPU time of a child: %d fields", len(fields))
	}
	return ticks(fields[first : first+4])
}

func ticks(fields [][]byte) (time.Duration, error) {
	var sum int64
	for _, f := range fields {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read a CPU time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / userHZ, nil
}

// readMachine reads the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal …
func (c *cpuClock) readMachine() error {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return fmt.Errorf("read the machine's CPU time: %w", err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line)
	if len(f) < 9 {
		return fmt.Errorf("read the machine's CPU time: %d fields", len(f))
	}
	for _, part := range []struct {
		to     *time.Duration
		fields [][]byte
	}{
		{&c.busy, [][]byte{f[1], f[2], f[3], f[6], f[7]}}, {&c.stolen, f[8:9]}, {&c.total, f[1:9]},
	} {
		if *part.to, err = ticks(part.fields); err != nil {
			return err
		}
	}
	return nil
}
