package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/engines"
	"github.com/soulacy/toolcell/test/kernels/report"
)

var (
	pool   engines.Pool
	update = flag.Bool("update", false, "write the golden files instead of comparing with them")
)

func TestMain(m *testing.M) { os.Exit(pool.Main(m)) }

// TestContainer has root in a container on this machine's own kernel call: as docker starts one, and with what doctor
// prints there.
func TestContainer(t *testing.T) {
	docker := pool.Start(t, engines.Docker)
	image := docker.Load(t, engines.Python())
	programs := filepath.Join(t.TempDir(), "programs")
	require.NoError(t, build(t.Context(), programs, false))
	for _, c := range containers() {
		t.Run(c.Name, func(t *testing.T) {
			in := func(args ...string) []byte {
				argv := append([]string{"run", "--rm", "--network", "none", "-v", programs + ":/toolcell:ro"}, c.options...)
				cmd := docker.Command(t.Context(), append(append(argv, image), args...)...)
				var said bytes.Buffer
				cmd.Stderr = &said
				out, err := cmd.Output()
				if err != nil {
					t.Logf("%s: %v: %s", args, err, said.Bytes())
				}
				return out
			}
			var calls []report.Call
			require.NoError(t, json.Unmarshal(in("/toolcell/guest", c.mode()), &calls))
			events := []report.Event{
				{Cell: c.Name, Doctor: in("/toolcell/toolcell", "doctor", "--json")},
				{Cell: c.Name, Calls: calls},
			}
			print(c.Cell, events)
			o, err := judge(c.Cell, events)
			require.NoError(t, err)
			require.NoError(t, keep("testdata", o.anyKernel(), *update))
		})
	}
}
