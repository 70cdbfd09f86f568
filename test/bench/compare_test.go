package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompareFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string, ratios ...ratio) string {
		p := filepath.Join(dir, name)
		require.NoError(t, writeJSON(p, &results{Ratios: ratios}))
		return p
	}
	before := path("before", ratio{Name: "a", Gate: true, P50: 2, Low: 1.9, High: 2.1}, ratio{Name: "b", Gate: true, P50: 1}, ratio{Name: "peer", P50: 1})
	after := path("after", ratio{Name: "a", Gate: true, P50: 2.4, Low: 2.3, High: 2.5}, ratio{Name: "b", Gate: true, P50: 0.9}, ratio{Name: "peer", P50: 9}, ratio{Name: "new", Gate: true, P50: 50})
	other := path("other", ratio{Name: "new", Gate: true, P50: 50})

	for _, c := range []struct {
		name      string
		old, new  string
		limit     float64
		ok, fails bool
	}{
		{name: "no limit never fails", old: before, new: after, ok: true},
		{name: "within the limit", old: before, new: after, limit: 1.25, ok: true},
		{name: "beyond the limit", old: before, new: after, limit: 1.1},
		{name: "an improvement", old: after, new: before, limit: 1.15, ok: true},
		{name: "nothing in common is no pass", old: before, new: other, limit: 1.1, fails: true},
		{name: "no such file", old: before, new: filepath.Join(dir, "none"), limit: 1.1, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			ok, err := runCompare(&out, c.old, c.new, c.limit)
			assert.Equal(t, c.fails, err != nil, "%v", err)
			assert.Equal(t, c.ok, ok, out.String())
		})
	}
}

func TestCompareMarksWhatScatterDoesNotExplain(t *testing.T) {
	var out strings.Builder
	worst := compare(&out,
		&results{Ratios: []ratio{{Name: "up", Gate: true, P50: 2, Low: 1.9, High: 2.1}, {Name: "same", P50: 2, Low: 1.5, High: 2.5}}},
		&results{Ratios: []ratio{{Name: "up", Gate: true, P50: 3, Low: 2.9, High: 3.1}, {Name: "same", P50: 2.2, Low: 1.6, High: 2.6}}})
	assert.InDelta(t, 1.5, worst, 1e-9)
	for line := range strings.Lines(out.String()) {
		assert.Equal(t, strings.HasPrefix(line, "up "), strings.Contains(line, "slower"), line)
	}
}

func TestCompareKnowsWhatIsBetter(t *testing.T) {
	var out strings.Builder
	worst := compare(&out,
		&results{Ratios: []ratio{{Name: "rate", Gate: true, More: true, P50: 2}}, Figures: []figure{{Name: "memory", Value: 2, Unit: "MiB"}}},
		&results{Ratios: []ratio{{Name: "rate", Gate: true, More: true, P50: 4}}, Figures: []figure{{Name: "memory", Value: 1, Unit: "MiB"}}})
	assert.InDelta(t, 0.5, worst, 1e-9)
	worst = compare(&out,
		&results{Figures: []figure{{Name: "memory", Value: 2, Unit: "MiB"}}}, &results{Figures: []figure{{Name: "memory", Value: 3, Unit: "MiB"}}})
	assert.InDelta(t, 1.5, worst, 1e-9)
}

func TestJudge(t *testing.T) {
	r := &results{
		Ratios:  []ratio{{Name: coldToBwrap, P50: 0.52}, {Name: coldToBare, P50: 3.1}, {Name: coldVersus(64, callRate), P50: 2.4, More: true}},
		Figures: []figure{{Name: memoryOne, Value: 1}},
		Missing: []missing{{Name: nameDocker, Program: "node", Cause: "no node in the image"}, {Name: nameHeaps, Cause: "too little memory"}},
	}
	states, whys := map[string]string{}, map[string]string{}
	for _, g := range judge(r) {
		states[g.Name], whys[g.Name] = g.State, g.Why
	}
	assert.Len(t, states, len(goals()), "every goal is there, whatever was measured")
	assert.Equal(t, reached, states[coldToBwrap], "the bound itself is within")
	assert.Equal(t, missed, states[coldToBare])
	assert.Equal(t, reached, states[coldVersus(64, callRate)], "more is better")
	assert.Equal(t, reached, states[memoryOne])
	assert.Equal(t, notMeasured, states[heapToSmall], "what was not measured is not reached")
	assert.Equal(t, "too little memory", whys[heapToSmall])
	assert.Equal(t, "no node in the image", whys[nodeToDocker])
	assert.Equal(t, "left out of this run", whys[pythonToDocker])
	r.Ratios[2].P50 = 1.9
	for _, g := range judge(r) {
		if g.Name == coldVersus(64, callRate) {
			assert.Equal(t, missed, g.State)
		}
	}
}

// What no program has for one reason is said once.
func TestNote(t *testing.T) {
	var r results
	assert.True(t, r.note(missing{Name: "podman run", Program: "true", Cause: "not installed"}))
	assert.False(t, r.note(missing{Name: "podman run", Program: "node", Cause: "not installed"}))
	assert.True(t, r.note(missing{Name: "docker run", Program: "node", Cause: "no node"}))
	assert.Equal(t, []missing{{Name: "podman run", Cause: "not installed"}, {Name: "docker run", Program: "node", Cause: "no node"}}, r.Missing)
}
