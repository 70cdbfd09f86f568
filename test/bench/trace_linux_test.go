package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// script writes a trace of one call as perf prints it: the spawner is 10, init 20, the program 30. after names what else is
// mapped after the plan.
func script(closeAfterMap bool, after ...string) string {
	var b strings.Builder
	at := 1000
	line := func(tid int, format string, args ...any) {
		at += 10
		fmt.Fprintf(&b, "%d  0.%09d: %s\n", tid, at, fmt.Sprintf(format, args...))
	}
	call := func(tid, nr int) {
		line(tid, "  raw_syscalls:sys_enter: NR %d (0, 0, 0, 0, 0, 0)", nr)
		line(tid, "   raw_syscalls:sys_exit: NR %d = 0", nr)
	}
	call(10, unix.SYS_RECVMSG)
	line(10, "raw_syscalls:sys_enter: NR %d (0)", unix.SYS_CLONE3)
	line(10, "sched:sched_process_fork: comm=toolcell-init pid=10 child_comm=toolcell-init child_pid=20")
	line(20, "raw_syscalls:sys_exit: NR %d = 0", unix.SYS_CLONE3)
	call(20, unix.SYS_MMAP)
	if closeAfterMap {
		call(20, unix.SYS_CLOSE)
	}
	call(20, unix.SYS_UNSHARE)
	at += 500
	call(20, unix.SYS_MOUNT)
	for range len(after) {
		call(20, unix.SYS_LSEEK)
		call(20, unix.SYS_MMAP)
		call(20, unix.SYS_CLOSE)
	}
	line(20, "sched:sched_process_fork: comm=a pid=20 child_comm=a child_pid=30")
	line(30, "sched:sched_process_exec: filename=/bin/true pid=30 old_pid=30")
	line(30, "sched:sched_process_exit: comm=true pid=30 prio=120")
	line(20, "sched:sched_process_exit: comm=a pid=20 prio=120")
	call(10, unix.SYS_SENDMSG)
	return b.String()
}

var wholeWindow = window{begin: 1000, end: 2000}

func TestTraceOfACall(t *testing.T) {
	tr, err := readTrace(strings.NewReader("a note\n" + script(true)))
	require.NoError(t, err)
	c, err := tr.call(wholeWindow, 10, 2)
	require.NoError(t, err)
	assert.Equal(t, []int64{20, 520}, c.steps)
	var sum int64
	for _, d := range c.phases {
		assert.Positive(t, d)
		sum += d
	}
	assert.Equal(t, wholeWindow.end-wholeWindow.begin, sum, "the phases are the whole call")
}

// What init maps after the plan is none of its steps.
func TestTraceEndsWithThePlan(t *testing.T) {
	tr, err := readTrace(strings.NewReader(script(true, "the program")))
	require.NoError(t, err)
	c, err := tr.call(wholeWindow, 10, 2)
	require.NoError(t, err)
	assert.Equal(t, []int64{20, 520}, c.steps)
}

// A call that the trace does not show whole, or whose steps are not the plan's, is left out, not guessed.
func TestTraceOfAnIncompleteCall(t *testing.T) {
	tr, err := readTrace(strings.NewReader(script(true)))
	require.NoError(t, err)
	_, err = tr.call(wholeWindow, 10, 3)
	require.ErrorIs(t, err, errIncomplete, "the plan has a step more")
	_, err = tr.call(wholeWindow, 11, 2)
	require.ErrorIs(t, err, errIncomplete, "another spawner's")
	_, err = tr.call(window{begin: 0, end: 1100}, 10, 2)
	require.ErrorIs(t, err, errIncomplete, "the call has not ended")
	tr, err = readTrace(strings.NewReader(script(false)))
	require.NoError(t, err)
	_, err = tr.call(wholeWindow, 10, 2)
	require.ErrorIs(t, err, errIncomplete, "where the plan begins is not known")
}

func TestReadTraceRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, line := range []string{
		"1 5.123: sched:sched_process_exec: a b", "1 0.000000001: raw_syscalls:sys_enter: what 5 (", "1 0.000000001: sched:sched_process_fork: child_pid=x",
	} {
		_, err := readTrace(strings.NewReader(line))
		require.Error(t, err, line)
	}
}

func TestExplain(t *testing.T) {
	steps, err := explain("  6  priv.nonroot          setgroups(0, NULL)            # no supplementary groups\n" +
		"  7                        r4 = dup3(9, 1, 0) = 1        # standard stream\n" +
		"  8  kernel.landlock       put(&8, 1)                    # a field\n" +
		"  9                        execve(/bin/true)             # start the program\n")
	require.NoError(t, err)
	assert.Equal(t, []explained{
		{guarantee: "priv.nonroot", verb: "setgroups", text: "setgroups(0, NULL) # no supplementary groups"},
		{guarantee: "", verb: "dup3", text: "r4 = dup3(9, 1, 0) = 1 # standard stream"},
	}, steps)
	_, err = explain("too short\n")
	require.Error(t, err)
}
