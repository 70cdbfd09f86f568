package native

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// A report that was computed before is given again only where everything is as it was, and is each call's own.
func TestReportsAreKept(t *testing.T) {
	b := testBackend(t)
	p := sandbox.ContainerProfile{}.WithDefaults()
	get := func(p sandbox.ContainerProfile) sandbox.Report {
		r, _, err := b.report(p)
		require.NoError(t, err)
		return r
	}
	first := get(p)
	again := get(p)
	require.Equal(t, first, again)
	require.Len(t, b.reports.list, 1)
	again[0].Reason = "changed by its call"
	assert.Equal(t, first, get(p))

	for name, change := range map[string]func(*sandbox.ContainerProfile){
		"a limit":          func(p *sandbox.ContainerProfile) { p.Limits.MemoryMB++ },
		"processes":        func(p *sandbox.ContainerProfile) { p.PIDs++ },
		"scratch programs": func(p *sandbox.ContainerProfile) { p.ScratchExec = true },
		"a mount":          func(p *sandbox.ContainerProfile) { p.Binds = []sandbox.Mount{{Source: "/usr", Target: "/x"}} },
	} {
		other := p
		change(&other)
		assert.NotEqual(t, first, get(other), name)
	}
	b.memfdNoexec = !b.memfdNoexec
	assert.NotEqual(t, first, get(p), "what the spawner is like")
	b.memfdNoexec = !b.memfdNoexec
	cgroups, cause := b.cgroups, b.cgroupErr
	b.cgroups, b.cgroupErr = nil, assert.AnError
	lost := get(p)
	b.cgroups, b.cgroupErr = cgroups, cause
	assert.False(t, lost.Enforced(sandbox.LimitMemory))
	assert.Equal(t, first, get(p))
}
