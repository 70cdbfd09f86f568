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

func TestJudge(t *testing.T) {
	goals := judge([]ratio{{Name: coldToBwrap, P50: 0.6}, {Name: coldToBare, P50: 3.6}})
	met := map[string]goal{}
	for _, g := range goals {
		met[g.Name] = g
	}
	assert.True(t, met[coldToBwrap].Met)
	assert.True(t, met[coldToBare].Known)
	assert.False(t, met[coldToBare].Met)
	assert.False(t, met[heapToSmall].Known, "what was not measured is not met")
	assert.False(t, met[heapToSmall].Met)
}
