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
	way := func(name string, slow bool) subject {
		return subject{name: name, slow: slow, run: func() (time.Duration, error) {
			order = append(order, name)
			if slow {
				return slowBudget / leastSlow, nil
			}
			return time.Millisecond, nil
		}}
	}
	all, err := rounds{n: 40, warm: 1}.measure([]subject{way("a", false), way("b", false), way("slow", true)})
	require.NoError(t, err)
	firsts := map[string]int{}
	var fast []string
	for _, name := range order {
		if name != "slow" {
			fast = append(fast, name)
		}
	}
	require.Len(t, fast, 82)
	for i := 2; i < len(fast); i += 2 {
		assert.NotEqual(t, fast[i], fast[i+1], "round %d", i/2)
		firsts[fast[i]]++
	}
	assert.Len(t, firsts, 2, "either comes first at times")
	slow, ok := find(all, "slow")
	require.True(t, ok)
	assert.Equal(t, leastSlow, newRow(slow).Calls, "as many as its time allows")
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
	_, err = callers(bad, 3, func(int) bool { return true })
	require.ErrorIs(t, err, boom)
	p := program{argv: []string{"/bin/echo", "5"}, output: "4\n"}
	_, err = captured("echo", p.argv, p).run()
	require.ErrorIs(t, err, errOutput)
}

// On a slow machine there are fewer rounds, but never too few.
func TestRoundsEnd(t *testing.T) {
	s := subject{name: "a", run: func() (time.Duration, error) { return time.Millisecond, nil }}
	all, err := rounds{n: 3 * leastRounds, limit: time.Nanosecond}.measure([]subject{s})
	require.NoError(t, err)
	assert.Equal(t, leastRounds, newRow(all[0]).Calls)
}

func TestQuoted(t *testing.T) {
	out, err := command([]string{"/bin/sh", "-c", quoted([]string{"printf", "%s|", "a b", "it's", "$HOME", ""})}).Output()
	require.NoError(t, err)
	assert.Equal(t, "a b|it's|$HOME||", string(out))
}

// A peer that fails is left out, and said so; the others go on.
func TestLostPeer(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	peer := subject{name: "peer", peer: true, run: func() (time.Duration, error) {
		calls++
		if calls > 3 {
			return 0, boom
		}
		return time.Millisecond, nil
	}}
	never := subject{name: "never", peer: true, run: func() (time.Duration, error) { return 0, boom }}
	ours := subject{name: "ours", run: func() (time.Duration, error) { return time.Millisecond, nil }}
	lost := map[string]error{}
	r := rounds{n: 10, warm: 1, lost: func(name string, err error) { lost[name] = err }}
	all, err := r.measure([]subject{peer, never, ours})
	require.NoError(t, err)
	assert.Equal(t, map[string]error{"peer": boom, "never": boom}, lost)
	assert.Equal(t, 4, calls, "and not called again")
	s, ok := find(all, "ours")
	require.True(t, ok)
	assert.Equal(t, 10, newRow(s).Calls)
	_, ok = find(all, "never")
	assert.False(t, ok)

	plan := blockPlan{rounds: 2, length: time.Millisecond, lost: r.lost}
	done, err := plan.measure([]*blockRun{{subject: never, callers: 2}, {subject: ours, callers: 2}})
	require.NoError(t, err)
	require.Len(t, done, 1)
	assert.Equal(t, "ours", done[0].subject.name)
}

// Calls of a burst find something standing ready, which is given up afterwards; a single caller sees to it itself.
func TestBurst(t *testing.T) {
	var ahead []int
	s := subject{run: func() (time.Duration, error) { return time.Millisecond, nil }, ahead: func(n int) error {
		ahead = append(ahead, n)
		return nil
	}}
	r := &blockRun{subject: s, callers: 64}
	require.NoError(t, r.add(0))
	assert.Equal(t, []int{burst, 0}, ahead)
	assert.Len(t, r.times, burst, "as many calls as stand ready")
	assert.Zero(t, r.block().CPU, "the building is in no call's time")
	ahead = nil
	one := &blockRun{subject: s, callers: 1}
	require.NoError(t, one.add(0))
	assert.Empty(t, ahead)
	assert.Len(t, one.times, leastCalls)
	assert.InDelta(t, 1000, one.block().Rate, 1e-6, "the pauses for arming are not the caller's")
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
	times, err := callers(s, 4, func(made int) bool { return made < 2 })
	require.NoError(t, err)
	assert.Len(t, times, 8)
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
