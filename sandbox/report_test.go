package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuarantees(t *testing.T) {
	seen := map[Guarantee]bool{}
	for _, g := range Guarantees() {
		assert.False(t, seen[g], g)
		seen[g] = true
		assert.True(t, g.Valid(), g)
		assert.NotContains(t, g.Meaning(), "\n")
		assert.Equal(t, strings.ToLower(string(g)), string(g))
		assert.Contains(t, string(g), ".")
	}
	// Design section 2: eighteen lines, of which some name two or three.
	assert.Len(t, seen, 22)
	for _, g := range []Guarantee{"", "net", "NET.NONE", "net.none ", "net.allowlist"} {
		assert.False(t, g.Valid(), "%q", g)
	}
	Guarantees()[0] = "changed"
	assert.Equal(t, FSReadonlyRoot, Guarantees()[0], "the slice is the caller's own")
}

func TestReportZeroDenies(t *testing.T) {
	var r Report
	for _, g := range Guarantees() {
		assert.False(t, r.Enforced(g))
		err := r.Check("run", []Guarantee{g})
		require.ErrorIs(t, err, ErrRefused)
		assert.ErrorContains(t, err, string(g))
	}
	assert.NoError(t, r.Check("run", nil))
	assert.ErrorIs(t, Report{{Guarantee: NetNone}}.Check("run", []Guarantee{NetNone}), ErrRefused, "the zero entry says no")
}

func TestReportCheck(t *testing.T) {
	r := Report{
		{Guarantee: NetNone, Enforced: true, Mechanism: "net namespace"},
		{Guarantee: LimitMemory, Reason: "no memory controller", Fix: "delegate it"},
		{Guarantee: LimitCPU},
	}
	assert.NoError(t, r.Check("run", []Guarantee{NetNone}))

	err := r.Check("open native", []Guarantee{NetNone, LimitMemory, LimitCPU})
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, KindRefused, e.Kind)
	assert.Equal(t, LimitMemory, e.Guarantee, "the first in the order of what is required")
	assert.Equal(t, "open native: limit.memory: no memory controller (delegate it)", err.Error())

	assert.EqualError(t, r.Check("run", []Guarantee{LimitCPU, LimitMemory}), "run: limit.cpu: it is not enforced")
	assert.EqualError(t, r.Check("run", []Guarantee{LimitWall}), "run: limit.wall: the backend does not report it")
}

func TestReportWaivers(t *testing.T) {
	r := Report{{Guarantee: NetNone, Enforced: true}, {Guarantee: LimitMemory}, {Guarantee: LimitCPU}}
	waived := r.WithWaivers([]Waiver{{Guarantee: LimitMemory, Reason: "laptop"}, {Guarantee: NetNone}, {Guarantee: LimitWall}})
	assert.NoError(t, waived.Check("run", []Guarantee{NetNone, LimitMemory}))
	assert.False(t, waived.Enforced(LimitMemory), "a waiver enforces nothing")
	assert.True(t, waived.Enforced(NetNone), "and takes nothing away")
	assert.ErrorIs(t, waived.Check("run", []Guarantee{LimitMemory, LimitCPU}), ErrRefused)
	// A waiver does not add a line for what the backend does not speak of.
	assert.Len(t, waived, len(r))
	assert.ErrorIs(t, waived.Check("run", []Guarantee{LimitWall}), ErrRefused)
	assert.False(t, r[1].Waived, "the report itself is unchanged")
	assert.Equal(t, waived, waived.WithWaivers(nil))
}
