package dockerargs_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// Parse reads back exactly what RunArgs wrote, for every profile that an engine's command line can express.
func TestParseOfRunArgs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := randomProfile(r)
		line := p.RunArgs("image:tag", "prog", "-x", "--rm")
		require.Equal(t, "run", line[0])
		inv, err := dockerargs.Parser{}.Parse(line[1:])
		require.NoError(t, err, "%q", line)

		p.Image = "image:tag"
		assert.Equal(t, p, inv.Profile, "%q", line)
		assert.Equal(t, []string{"prog", "-x", "--rm"}, inv.Command)
	}
}

// A scratch with execution can be written for an engine, and a caller cannot ask for it.
func TestScratchExecIsNotReadBack(t *testing.T) {
	line := sandbox.ContainerProfile{ScratchExec: true}.RunArgs("image", "true")
	_, err := dockerargs.Parser{}.Parse(line[1:])
	assert.ErrorIs(t, err, sandbox.ErrRefused)
}

// randomProfile returns a profile whose fields with a default written out are set.
func randomProfile(r *rand.Rand) sandbox.ContainerProfile {
	pick := func(values ...int) int { return values[r.IntN(len(values))] }
	p := sandbox.ContainerProfile{
		Network: "none", PIDs: 1 + r.IntN(1000), TmpfsMB: 1 + r.IntN(1000), ShmMB: pick(0, 1, 64),
		Limits: sandbox.Limits{
			MemoryMB: pick(0, 4, 512, 1<<20), CPUs: float64(pick(0, 1, 25, 400)) / 100, CPUSeconds: pick(0, 1, 30),
			OpenFiles: pick(0, 8, 256), FileSizeMB: pick(0, 1, 64),
		},
		User:    []string{"", "auto", "1000:1000", "65532:1"}[r.IntN(4)],
		Workdir: []string{"", "/tmp", "/w s", "/-x"}[r.IntN(4)],
		Runtime: []string{"", "runsc", "kata"}[r.IntN(3)],
	}
	for i := range r.IntN(3) {
		p.Env = append(p.Env, []string{"A=", "B=-e", "C=x=y\n"}[i])
	}
	for i := range r.IntN(4) {
		p.Binds = append(p.Binds, randomMount(r, i))
	}
	return p
}

func randomMount(r *rand.Rand, i int) sandbox.Mount {
	odd := []string{"a", ",", `"`, ":", "\n", " ", "=", "\xff", "\\", "'", "-"}
	name := "/src"
	for range r.IntN(5) {
		name += odd[r.IntN(len(odd))]
	}
	return sandbox.Mount{
		Source: name + "x", Target: "/data/" + string(rune('a'+i)),
		Writable: r.IntN(2) == 0, Recursive: r.IntN(2) == 0, Exec: true, // engines have no other
	}
}
