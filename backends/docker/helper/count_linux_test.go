package helper

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file returns an open file with this content.
func file(t *testing.T, content string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "counter")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// The figures of both versions of cgroups.
func TestCounters(t *testing.T) {
	v2 := counters{
		v2: true, cpuUser: file(t, "usage_usec 30\nuser_usec 10\nsystem_usec 20\nnr_periods 0\n"),
		oom: file(t, "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n"), pids: file(t, "max 5\n"),
	}
	want := usage{user: 10 * time.Microsecond, system: 20 * time.Microsecond, oomKills: 2, forks: 5}
	assert.Equal(t, want, v2.usage())
	v1 := counters{
		cpuUser: file(t, "10000\n"), cpuSys: file(t, "20000\n"), oom: file(t, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), pids: file(t, "max 5\n"),
	}
	assert.Equal(t, want, v1.usage())
	assert.Zero(t, counters{v2: true}.usage(), "what is not there is not counted")
	assert.Zero(t, field(v1.oom, "oom"), "a name is whole")
	assert.Zero(t, number([]byte("max\n")))
}

// A tick takes no memory, which would be the container's own.
func TestTickAllocatesNothing(t *testing.T) {
	r := &run{count: counters{v2: true, cpuUser: file(t, "user_usec 10\nsystem_usec 20\n"), oom: file(t, "oom 0\noom_kill 0\n")}}
	r.call.CPU = time.Second
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.overdrawn() }))
	r.count = counters{cpuUser: file(t, "10000\n"), cpuSys: file(t, "20000\n"), oom: r.count.oom}
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.overdrawn() }))
}
