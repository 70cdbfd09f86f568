package confine

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
)

// versions are go-landlock's configurations by their Landlock version.
func versions() map[int]landlock.Config {
	return map[int]landlock.Config{
		1: landlock.V1, 2: landlock.V2, 3: landlock.V3, 4: landlock.V4, 5: landlock.V5, 6: landlock.V6, 7: landlock.V7,
		8: landlock.V8, 9: landlock.V9,
	}
}

func TestLandlockRightsAreGoLandlocks(t *testing.T) {
	for abi, c := range versions() {
		fs, scoped := LandlockRights(abi)
		assert.Equal(t, c.HandledAccessFS, landlock.AccessFSSet(fs), "version %d", abi)
		assert.Equal(t, c.Scoped, landlock.ScopedSet(scoped), "version %d", abi)
	}
	fs, scoped := LandlockRights(1)
	assert.Equal(t, uint64(0x1fff), fs)
	assert.Zero(t, scoped)
	newest, _ := LandlockRights(99)
	assert.Equal(t, versions()[9].HandledAccessFS, landlock.AccessFSSet(newest), "a version to come has the rights that we know")
}

// Nobody may make device nodes, and only what asks for it may run programs or use devices' ioctls.
func TestRulesGiveNoMore(t *testing.T) {
	s := fixed()
	mounted(&s)
	exec := map[string]bool{"/usr": true, "/opt/tool": true}
	write := map[string]bool{"/tmp": true, "/dev/shm": true, "/deep/er/one file": true, "/tmp/x": true}
	devices := map[string]bool{"/proc": true, "/dev": true, "/dev/pts": true, "/dev/tty": true}
	for _, r := range Rules(s) {
		assert.Zero(t, r.Access&(ll.AccessFSMakeBlock|ll.AccessFSMakeChar), r.Path)
		assert.Equal(t, exec[r.Path], r.Access&ll.AccessFSExecute != 0, "%s: execute", r.Path)
		assert.Equal(t, write[r.Path] || devices[r.Path], r.Access&ll.AccessFSWriteFile != 0, "%s: write", r.Path)
		assert.Equal(t, write[r.Path], r.Access&(ll.AccessFSMakeReg|ll.AccessFSRefer|ll.AccessFSRemoveFile) != 0, "%s: change", r.Path)
		assert.Equal(t, r.Path == "/dev/pts" || r.Path == "/dev/tty", r.Access&ll.AccessFSIoctlDev != 0, "%s: ioctl", r.Path)
	}
	assert.Equal(t, Rule{Path: "/", Access: ll.AccessFSReadDir}, Rules(s)[0])
}

// allowed is what a list of rules gives at a path: Landlock adds up what is given on the way to the root.
func allowed(rules []Rule, p string) uint64 {
	var sum uint64
	for _, r := range rules {
		access := r.Access
		if r.File {
			access &= onFile
		}
		if r.Path == p || r.Path == "/" || strings.HasPrefix(p, r.Path+"/") {
			sum |= access
		}
	}
	return sum
}

// Leaving out rules changes no verdict, whatever the rules are.
func TestPruneKeepsVerdicts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func(depth int) string {
		p := "/"
		for range random.IntN(depth) {
			p = path.Join(p, string(rune('a'+random.IntN(3))))
		}
		return p
	}
	shorter := 0
	for range 3000 {
		var rules []Rule
		for range 1 + random.IntN(8) {
			access := uint64(1 + random.IntN(15))
			if random.IntN(4) == 0 {
				access = writeFiles
			}
			rules = append(rules, Rule{Path: name(4), Access: access})
		}
		pruned := prune(rules)
		if len(pruned) < len(rules) {
			shorter++
		}
		for range 10 {
			p := name(6)
			require.Equal(t, allowed(rules, p), allowed(pruned, p), "%s under %v", p, rules)
		}
		for _, r := range rules {
			require.Equal(t, allowed(rules, r.Path), allowed(pruned, r.Path), "%s under %v", r.Path, rules)
		}
	}
	assert.Positive(t, shorter, "something was left out")
}

// The host's own image has many binds; its rules are few, and say the same as all of them.
func TestPruneOfAnImage(t *testing.T) {
	s := fixed()
	image := rootfs.Image{}
	for i := range 30 {
		image.Binds = append(image.Binds, rootfs.Bind{Target: fmt.Sprintf("/etc/f%d", i), File: true})
	}
	s.Image = &image
	for _, r := range Rules(s) {
		assert.NotContains(t, r.Path, "/etc/f")
	}
	assert.Equal(t, uint64(readFiles), allowed(Rules(s), "/etc/f7")&^ll.AccessFSExecute)
}
