package docker

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A label names a dead caller only when nothing else can be meant.
func TestOwnerDead(t *testing.T) {
	o := newOwner()
	if o.start == "" {
		assert.False(t, o.dead("b/1/2"), "where processes cannot be told apart nobody is dead")
		t.Skipf("%s does not tell when a process was started", runtime.GOOS)
	}
	own := strings.TrimPrefix(o.labels()[1], labelOwner+"=")
	assert.False(t, o.dead(own), "this process lives")
	assert.True(t, o.dead("another-boot/"+strconv.Itoa(o.pid)+"/"+o.start), "the machine was started again")
	assert.True(t, o.dead(o.boot+"/"+strconv.Itoa(o.pid)+"/1"), "the id was given to another process")
	child := exec.Command(os.Args[0], "-test.run", "^$")
	require.NoError(t, child.Run())
	assert.True(t, o.dead(o.boot+"/"+strconv.Itoa(child.Process.Pid)+"/99"))
	if o.boot != "" {
		assert.False(t, o.dead("/"+strconv.Itoa(child.Process.Pid)+"/99"), "its caller could not tell the boot")
		unread := o
		unread.boot = ""
		assert.False(t, unread.dead(own), "this caller cannot")
	}
	for _, unclear := range []string{"", "x", "a/b", o.boot + "/x/1", o.boot + "/-1/1", o.boot + "/0/1", o.boot + "/1/", "a/b/c/d"} {
		assert.False(t, o.dead(unclear), "%q", unclear)
	}
}

// The sweep removes this machine's own dead callers' containers and nobody else's.
func TestSweep(t *testing.T) {
	me := newOwner()
	if me.start == "" {
		t.Skipf("%s does not tell when a process was started", runtime.GOOS)
	}
	describe := func(id, host, owner string) string {
		return `{"Id":"` + id + `","Config":{"Labels":{"toolcell.host":"` + host + `","toolcell.owner":"` + owner + `"}}}`
	}
	live := strings.TrimPrefix(me.labels()[1], labelOwner+"=")
	f := newFake()
	f.ps = "dead\nalive\nelsewhere\nunclear\n"
	f.orphans = "[" + strings.Join([]string{
		describe("dead", me.host, "old-boot/1/2"), describe("alive", me.host, live),
		describe("elsewhere", "other-host", "old-boot/1/2"), describe("unclear", me.host, "?"),
	}, ",") + "]"
	b := openFake(t, f)
	removed := func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		i := slices.IndexFunc(f.calls, func(c []string) bool { return c[0] == "rm" })
		if i < 0 {
			return nil
		}
		return slices.Clone(f.calls[i])
	}
	require.Eventually(t, func() bool { return removed() != nil }, time.Minute, time.Millisecond)
	assert.Equal(t, []string{"rm", "-f", "-v", "dead"}, removed())
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Contains(t, f.calls, []string{"ps", "-a", "-q", "--no-trunc", "--filter", "label=toolcell.host=" + b.owner.host})
}
