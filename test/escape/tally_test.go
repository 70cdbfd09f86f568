//go:build linux

package escape

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
)

// minimum is how many attempts have to count, each with a control that succeeded.
const minimum = 40

// tally keeps which attempts counted.
type tally struct {
	mu      sync.Mutex
	counted []string
	others  map[string]string
}

// record counts an attempt whose control succeeded, and keeps the reason otherwise.
func (c *tally) record(name string, control bool, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if control {
		c.counted = append(c.counted, name)
		return
	}
	if c.others == nil {
		c.others = map[string]string{}
	}
	c.others[name] = why
}

// build builds the programs that the test needs: the helper and the spawner.
func build(t *testing.T) []string {
	return []string{
		conformance.Build(t, "github.com/soulacy/toolcell/test/escape/attempt"),
		conformance.Build(t, "github.com/soulacy/toolcell/cmd/toolcell-init"),
	}
}

// print says what counted, and fails when the host was to show enough and did not.
func (c *tally) print(t *testing.T) {
	fmt.Printf("\nescape: counted %d: %q\n", len(c.counted), c.counted)
	fmt.Printf("escape: not counted %d, since the attempt does not succeed unconfined here:\n", len(c.others))
	names := make([]string, 0, len(c.others))
	for name := range c.others {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Printf("escape:   %s: %s\n", name, c.others[name])
	}
	if os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" && os.Geteuid() == 0 {
		assert.GreaterOrEqual(t, len(c.counted), minimum, "too few attempts have a control that succeeds")
	}
}

// harness is what all attempts share.
type harness struct {
	b sandbox.Backend
	// image is the profile's. owner, when not 0, is who a writable place has to belong to.
	image string
	owner int
	// together says that a sandbox is dear, so that attempts that need nothing of their own share one.
	together bool
	// brief leaves out, in a short run, the attempts that need a sandbox of their own: TestEscape makes them always.
	brief           bool
	helper, spawner string
	// protected is a directory of the host that the operator allows no mount to show.
	protected string
	tally     tally
	// sums are the hashes of our programs before the first attempt.
	sums map[string]string
}

// careless makes this process what a careless gateway would be: with descriptors of the host open and inheritable, and a
// secret in its environment.
func (h *harness) careless(t *testing.T) {
	for range 100 {
		fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, syscall.Close(fd)) })
	}
	t.Setenv("TOOLCELL_GATEWAY_KEY", gatewaySecret)
	h.protected = tempDir(t)
}

// newHarness opens the native backend.
func newHarness(t *testing.T, helper, spawner string) *harness {
	h := &harness{helper: helper, spawner: spawner}
	h.careless(t)
	c := native.Config{Spawner: h.spawner, Protected: []string{h.protected}, NamespacesAhead: os.Geteuid() != 0}
	if os.Geteuid() != 0 {
		for _, g := range []sandbox.Guarantee{sandbox.LimitProcesses, sandbox.LimitMemory, sandbox.LimitCPU} {
			c.Waivers = append(c.Waivers, sandbox.Waiver{Guarantee: g})
		}
	}
	b, err := backends.OpenBackend(t.Context(), native.Name, backends.Config{Native: c})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	h.b = b
	h.sums = h.programs(t)
	return h
}

// programs hashes the programs of ours that a sandbox could have changed.
func (h *harness) programs(t *testing.T) map[string]string {
	sums := map[string]string{}
	for _, p := range []string{h.helper, h.spawner} {
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		sum := sha256.Sum256(b)
		sums[p] = hex.EncodeToString(sum[:])
	}
	return sums
}

// treeSum is a hash over names, modes, owners, times and contents below dir.
func treeSum(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(h, "%q %v %d:%d %d %d\n", p, info.Mode(), st.Uid, st.Gid, st.Mtim.Nano(), st.Ctim.Nano())
		if !info.Mode().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		_, err = h.Write(b)
		return err
	}))
	return hex.EncodeToString(h.Sum(nil))
}
