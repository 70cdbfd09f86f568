package supervise

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCPU(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want time.Duration
		ok   bool
	}{
		"v1":                   {"123456789\n", 123456789, true},
		"v1 without a newline": {"5", 5, true},
		"v2":                   {"usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n", 1500 * time.Millisecond, true},
		"nothing used":         {"usage_usec 0\n", 0, true},
		"nothing":              {"", 0, false},
		"a newline":            {"\n", 0, false},
		"negative":             {"-1\n", 0, false},
		"another first line":   {"user_usec 1\nusage_usec 5\n", 0, false},
		"no number":            {"usage_usec x\n", 0, false},
		"two numbers":          {"1 2\n", 0, false},
		"more than 64 bits":    {"99999999999999999999\n", 0, false},
		"more than a duration": {"usage_usec 9223372036854775807\n", 0, false},
		"a whole duration":     {"9223372036854775807\n", math.MaxInt64, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseCPU([]byte(tt.in))
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, got)
		})
	}
}

func FuzzParseCPU(f *testing.F) {
	for _, s := range []string{"", "1\n", "usage_usec 1\n", "usage_usec 9223372036854775\n", "usage_usec 9223372036854776\n", "usage_usec -1", "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, ok := parseCPU(data)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.True(t, ok || d == 0)
	})
}

// A usage file that cannot be read any more ends the call: its limit cannot be kept.
func TestUnreadableUsageIsAUsedBudget(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	c := call{cpuFile: int(dir.Fd()), budget: time.Minute}
	assert.Equal(t, time.Minute, c.cpuUsed())
	bad, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer bad.Close()
	c.cpuFile = int(bad.Fd())
	assert.Equal(t, time.Minute, c.cpuUsed())
	_, err = bad.WriteString("usage_usec 7\n")
	require.NoError(t, err)
	assert.Equal(t, 7*time.Microsecond, c.cpuUsed())
}

func TestNextCheck(t *testing.T) {
	cpus := time.Duration(runtime.NumCPU())
	c := call{budget: time.Minute}
	assert.Equal(t, time.Minute/cpus, c.nextCheck(0))
	assert.Equal(t, time.Second/cpus, c.nextCheck(time.Minute-time.Second))
	assert.Equal(t, minCheck, c.nextCheck(time.Minute))
	assert.Equal(t, minCheck, c.nextCheck(math.MaxInt64))
	c.budget = 0
	assert.Greater(t, c.nextCheck(0), 24*time.Hour, "no budget, no checks")
}

func TestTimeout(t *testing.T) {
	now := time.Now()
	at := func(deadline, check time.Duration) *call {
		return &call{deadline: now.Add(deadline), checkCPU: now.Add(check)}
	}
	for name, tt := range map[string]struct {
		calls []*call
		want  time.Duration
	}{
		"nothing to wait for": {nil, Never},
		"ended calls only":    {[]*call{nil, nil}, Never},
		"a deadline":          {[]*call{nil, at(time.Second, time.Minute)}, time.Second},
		"a CPU check":         {[]*call{at(time.Minute, time.Second)}, time.Second},
		"the earliest":        {[]*call{at(9*time.Second, time.Minute), at(7*time.Second, time.Minute)}, 7 * time.Second},
		"past":                {[]*call{at(-time.Minute, time.Minute)}, 0},
		"far away":            {[]*call{at(100*24*time.Hour, math.MaxInt64)}, longest},
	} {
		t.Run(name, func(t *testing.T) {
			s := Supervisor{calls: tt.calls}
			assert.Equal(t, tt.want, s.Timeout(now))
		})
	}
	assert.LessOrEqual(t, int(longest/time.Millisecond), math.MaxInt32, "epoll_wait takes an int")
}

// The sampler sees what a tree uses while it lives, and never forgets it.
func TestSamplerAddsUpATree(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "(while :; do :; done) & wait")
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	var s cpuSampler
	require.Eventually(t, func() bool { return s.sample(pid) >= 3*clockTick }, 20*time.Second, 10*time.Millisecond, "the child of the shell is seen at work")
	tree := below(processes(), pid)
	assert.Len(t, tree, 2)
	for _, p := range tree {
		proc, err := os.FindProcess(p)
		require.NoError(t, err)
		require.NoError(t, proc.Kill())
	}
	_ = cmd.Wait()
	assert.GreaterOrEqual(t, s.sample(pid), 3*clockTick, "used time stays used")
}

func TestParseStat(t *testing.T) {
	p, ok := parseStat([]byte("7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0 1 0\n"))
	require.True(t, ok)
	assert.Equal(t, process{parent: 3, time: 100 * clockTick}, p)
	for _, bad := range []string{"", "7 (a", "7 (a) S 3", "7 (a) S x 7 7 0 -1 0 0 0 0 0 10 20 30 40 20 0", "7 (a) S 3 7 7 0 -1 0 0 0 0 0 10 x 30 40 20 0"} {
		_, ok := parseStat([]byte(bad))
		assert.False(t, ok, bad)
	}
}
