package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README shows what a run has measured, whose results and pictures are kept beside this file: none is written by hand.
func TestReadmeShowsWhatWasMeasured(t *testing.T) {
	const kept = "plots"
	r, err := readJSON(filepath.Join(kept, "results.json"))
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), markdown(r), "go run ./test/bench -plots test/bench/plots -draw test/bench/plots/results.json prints it")

	drawn := plots(r)
	for name, svg := range drawn {
		b, err := os.ReadFile(filepath.Join(kept, name))
		require.NoError(t, err)
		assert.Equal(t, svg, string(b), name)
	}
	files, err := filepath.Glob(filepath.Join(kept, "*.svg"))
	require.NoError(t, err)
	assert.Len(t, files, len(drawn), "no picture of another run is left")
	assert.Equal(t, judge(r), withWays(r.Goals), "the goals are those of this program")
}

// withWays adds to goals from a file what is not in it.
func withWays(list []goal) []goal {
	all := goals()
	for i := range min(len(list), len(all)) {
		list[i].way, list[i].program = all[i].way, all[i].program
	}
	return list
}
