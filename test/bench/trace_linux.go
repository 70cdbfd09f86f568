package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native"
)

// The kinds of events that are recorded.
const (
	eventEnter = "raw_syscalls:sys_enter"
	eventLeave = "raw_syscalls:sys_exit"
	eventFork  = "sched:sched_process_fork"
	eventExec  = "sched:sched_process_exec"
	eventExit  = "sched:sched_process_exit"
)

// event is one line of the trace.
type event struct {
	at   int64 // nanoseconds, CLOCK_MONOTONIC
	kind string
	// number is a system call's, or the new process's id of a fork.
	number int
}

// trace is the events of each thread in order of time.
type trace map[int][]event

// window is when one call began and ended, in the trace's time.
type window struct{ begin, end int64 }

// record runs this program under perf(1), which watches the whole machine so that no process of the calls is slower to
// start for being watched, and returns the trace, the calls and the spawner's id.
func record(perf, dir string, o options) (trace, []window, int, error) {
	data := dir + "/perf.data"
	events := strings.Join([]string{eventEnter, eventLeave, eventFork, eventExec, eventExit}, ",")
	self, err := os.Executable() // perf starts it, so /proc/self would be perf
	if err != nil {
		return nil, nil, 0, fmt.Errorf("find this program: %w", err)
	}
	argv := []string{
		perf, "record", "-a", "-q", "-k", "CLOCK_MONOTONIC", "-m", "4M", "-e", events, "-o", data, "--",
		self, "-traced", "-steps", strconv.Itoa(o.steps), "-bin", o.bin, "-waive", o.waive,
	}
	var stderr strings.Builder
	cmd := command(argv)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("perf record: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	windows, spawner, err := readWindows(string(out))
	if err != nil {
		return nil, nil, 0, err
	}
	script := command([]string{perf, "script", "--ns", "-F", "tid,time,event,trace", "-i", data})
	pipe, err := script.StdoutPipe()
	if err != nil {
		return nil, nil, 0, fmt.Errorf("perf script: %w", err)
	}
	if err := script.Start(); err != nil {
		return nil, nil, 0, fmt.Errorf("perf script: %w", err)
	}
	t, err := readTrace(pipe)
	return t, windows, spawner, errors.Join(err, script.Wait())
}

// traced is what runs under perf: it makes the calls and says when each began and ended.
func traced(o options) (err error) {
	b, err := openBackend(o.bin, o.waive, native.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	pids, err := children()
	if err != nil {
		return err
	}
	if len(pids) != 1 {
		return fmt.Errorf("find the spawner: there are %d child processes", len(pids))
	}
	fmt.Println(pids[0])
	s := cold(b, truth())
	for range o.steps {
		begin, err := monotonic()
		if err != nil {
			return err
		}
		d, err := s.run()
		if err != nil {
			return err
		}
		fmt.Println(begin, begin+d.Nanoseconds())
	}
	return nil
}

func monotonic() (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return t.Nano(), nil
}

// readWindows reads what traced has written.
func readWindows(out string) ([]window, int, error) {
	first, rest, _ := strings.Cut(out, "\n")
	spawner, err := strconv.Atoi(first)
	if err != nil {
		return nil, 0, fmt.Errorf("read the traced calls: %w", err)
	}
	var windows []window
	for line := range strings.Lines(rest) {
		var w window
		if _, err := fmt.Sscan(line, &w.begin, &w.end); err != nil {
			return nil, 0, fmt.Errorf("read the traced calls: %w", err)
		}
		windows = append(windows, w)
	}
	return windows, spawner, nil
}

// readTrace reads lines such as "123 45.678901234: raw_syscalls:sys_enter: NR 16 (7, …)".
func readTrace(r io.Reader) (trace, error) {
	t := trace{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue
		}
		tid, err := strconv.Atoi(f[0])
		if err != nil {
			continue // a note of perf's own
		}
		at, err := parseTime(strings.TrimSuffix(f[1], ":"))
		if err != nil {
			return nil, err
		}
		e := event{at: at, kind: strings.TrimSuffix(f[2], ":")}
		if e.number, err = eventNumber(e.kind, f[3:]); err != nil {
			return nil, fmt.Errorf("read the trace's line %q: %w", lines.Text(), err)
		}
		t[tid] = append(t[tid], e)
	}
	return t, lines.Err()
}

func parseTime(s string) (int64, error) {
	sec, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(sec+frac, 10, 64)
	if err != nil || len(frac) != 9 {
		return 0, fmt.Errorf("read the trace's time %q: not in nanoseconds", s)
	}
	return n, nil
}

func eventNumber(kind string, f []string) (int, error) {
	switch {
	case kind == eventFork:
		return strconv.Atoi(strings.TrimPrefix(f[len(f)-1], "child_pid="))
	case kind == eventEnter || kind == eventLeave:
		if len(f) < 2 || f[0] != "NR" {
			return 0, errors.New("no number of a system call")
		}
		return strconv.Atoi(f[1])
	}
	return 0, nil
}

// explained is one step of a plan as the backend explains it.
type explained struct{ guarantee, verb, text string }

// explain returns the steps of a call that are system calls of init.
func explain(text string) ([]explained, error) {
	var out []explained
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		const guaranteeAt, textAt = 5, 27
		if len(line) < textAt {
			return nil, fmt.Errorf("read the plan: the line %q is too short", line)
		}
		e := explained{guarantee: strings.TrimSpace(line[guaranteeAt:textAt]), text: strings.Join(strings.Fields(line[textAt:]), " ")}
		e.verb, _, _ = strings.Cut(e.text, "(")
		if _, after, ok := strings.Cut(e.verb, " = "); ok {
			e.verb = after
		}
		switch e.verb {
		case "put", "same": // these write and compare memory
		case "execve": // the program's, which is not init's own
		default:
			out = append(out, e)
		}
	}
	return out, nil
}

// microseconds is how the steps are shown.
func microseconds(ns int64) float64 { return float64(ns) / float64(time.Microsecond) }
