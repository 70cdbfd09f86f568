package main

import (
	"errors"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each round calls each way once, and not always in the same order.
func TestRoundsInterleave(t *testing.T) {
	var order []string
	way := func(name string, every int) subject {
		return subject{name: name, every: every, run: func() (time.Duration, error) {
			order = append(order, name)
			return time.Millisecond, nil
		}}
	}
	all, err := rounds{n: 40}.measure([]subject{way("a", 0), way("b", 0), way("slow", 10)})
	require.NoError(t, err)
	firsts := map[string]int{}
	var fast []string
	for _, name := range order {
		if name != "slow" {
			fast = append(fast, name)
		}
	}
	require.Len(t, fast, 80)
	for i := 0; i < len(fast); i += 2 {
		assert.NotEqual(t, fast[i], fast[i+1], "round %d", i/2)
		firsts[fast[i]]++
	}
	assert.Len(t, firsts, 2, "either comes first at times")
	slow, ok := find(all, "slow")
	require.True(t, ok)
	assert.Equal(t, 4, newRow(slow).Calls)
	assert.True(t, math.IsNaN(slow.times[1]))
}

// A way that fails has no time: nothing is measured rather than something else.
func TestFailureIsNoTime(t *testing.T) {
	boom := errors.New("boom")
	bad := subject{name: "bad", run: func() (time.Duration, error) { return time.Millisecond, boom }}
	_, err := rounds{n: 2}.measure([]subject{bad})
	require.ErrorIs(t, err, boom)
	_, err = rounds{n: 2, warm: 1}.measure([]subject{bad})
	require.ErrorIs(t, err, boom)
	_, err = callers(bad, 3, time.Now().Add(time.Minute))
	require.ErrorIs(t, err, boom)
	p := program{argv: []string{"/bin/echo", "5"}, output: "4\n"}
	_, err = captured("echo", p.argv, p).run()
	require.ErrorIs(t, err, errOutput)
}

func TestCallersAreAsManyAsAsked(t *testing.T) {
	var now, most atomic.Int64
	s := subject{run: func() (time.Duration, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		return time.Millisecond, nil
	}}
	times, err := callers(s, 4, time.Now().Add(50*time.Millisecond))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(times), 4*leastCalls)
	assert.Equal(t, int64(4), most.Load())
}

// The CPU clock sees what a child has used, both while it lives and after it was waited for.
func TestCPUClockCountsChildren(t *testing.T) {
	before, err := readCPU()
	require.NoError(t, err)
	cmd := command([]string{"/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sleep 100"})
	require.NoError(t, cmd.Start())
	var alive cpuClock
	require.Eventually(t, func() bool {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		return err == nil && string(comm) == "sleep\n"
	}, time.Minute, 10*time.Millisecond)
	alive, err = readCPU()
	require.NoError(t, err)
	const burnt = 20 * time.Millisecond // 300,000 turns of a shell take several times that on any machine
	assert.Greater(t, alive.tree-before.tree, burnt)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	after, err := readCPU()
	require.NoError(t, err)
	assert.Greater(t, after.tree-before.tree, burnt)
}

// A peer that answers before its own children have ended does not get their CPU time for nothing.
func TestCPUClockCountsOrphans(t *testing.T) {
	require.NoError(t, adopt(true))
	defer func() { require.NoError(t, adopt(false)) }()
	before, err := readCPU()
	require.NoError(t, err)
	cmd := command([]string{"/bin/sh", "-c", "(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & exit 0"})
	require.NoError(t, cmd.Run())
	orphans, err := children()
	require.NoError(t, err)
	require.Len(t, orphans, 1)
	require.Eventually(t, func() bool {
		require.NoError(t, reap())
		left, err := children()
		return err == nil && len(left) == 0
	}, time.Minute, 10*time.Millisecond)
	after, err := readCPU()
	require.NoError(t, err)
	assert.Greater(t, after.tree-before.tree, 20*time.Millisecond)
}
