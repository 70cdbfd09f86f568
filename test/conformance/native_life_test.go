//go:build linux

package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// callerVariable is set in the process that TestNativeCallerKilled kills: the spawner's path and a marker.
const callerVariable = "TOOLCELL_TEST_CALLER"

// kills is how often the caller is killed: 20, or 200 with TOOLCELL_TEST_LONG=1.
func kills() int {
	if os.Getenv("TOOLCELL_TEST_LONG") == "1" {
		return 200
	}
	return 20
}

// TestNativeCallerKilled kills a caller with running sandboxes at a random moment. Nothing of them is left, and after the
// next start no cgroup of theirs either.
func TestNativeCallerKilled(t *testing.T) {
	if spec := os.Getenv(callerVariable); spec != "" {
		caller(t, spec)
		return
	}
	program := spawner(t)
	t.Setenv("TMPDIR", t.TempDir())
	before := hostState(t)
	alive := 0
	for range kills() {
		alive += killOnce(t, program)
	}
	require.Positive(t, alive, "no sandbox was ever seen running, so nothing was shown")
	c := native.Config{Spawner: program}
	if os.Geteuid() != 0 {
		c = waived(program, cgroupBound)
	}
	b := open(t, c)
	require.NoError(t, b.Close())
	assert.Eventually(t, func() bool { return hostState(t) == before }, 10*time.Second, 50*time.Millisecond,
		"before %+v, now %+v", before, hostState(t))
}

// killOnce kills one caller and returns how many processes of its sandboxes were alive just before.
func killOnce(t *testing.T, program string) int {
	t.Helper()
	mark := fmt.Sprintf("killed-caller-%d-%d", os.Getpid(), rand.Int64())
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNativeCallerKilled$")
	cmd.Env = append(os.Environ(), callerVariable+"="+program+"\n"+mark)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "started" {
	}
	require.NoError(t, lines.Err())
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // the moment is what the test varies, not what it measures
	alive := len(withArgument(t, mark+"\x00"))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it was meant to be
	assert.Eventually(t, func() bool { return len(withArgument(t, mark)) == 0 }, 10*time.Second, 10*time.Millisecond,
		"left alive: %v", withArgument(t, mark))
	return alive
}

// caller starts sandboxes, of which each has children that ignore signals, and is killed.
func caller(t *testing.T, spec string) {
	program, mark, _ := strings.Cut(spec, "\n")
	c := native.Config{Spawner: program}
	if os.Geteuid() != 0 {
		c = waived(program, cgroupBound)
	}
	b := open(t, c)
	fmt.Println("started")
	script := "trap '' TERM HUP INT; setsid sh -c 'sleep 600; true' " + mark + " & while :; do sleep 0.01; done"
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				_, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{
					Argv: []string{"/bin/sh", "-c", script, mark}, Timeout: time.Duration(50+rand.IntN(200)) * time.Millisecond,
				})
				if err != nil {
					fmt.Println(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// state is what calls must not leave on the host. cgroups are those that no running instance has locked, so that other
// tests do not matter.
type state struct{ mounts, cgroups, temporary int }

func hostState(t *testing.T) state {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	s := state{mounts: strings.Count(string(mounts), "\n"), temporary: count(t, os.TempDir())}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "toolcell-") && abandoned(p) {
			s.cgroups++
		}
		return nil // groups of others come and go
	})
	return s
}

// abandoned reports whether nobody holds the lock of an instance's directory.
func abandoned(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

func withArgument(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), text) {
			found = append(found, f)
		}
	}
	return found
}

// TestNativeLeavesNothing makes many calls, one after the other and 64 at once, and looks for what they left. With
// TOOLCELL_TEST_LONG=1 it makes 10,000.
func TestNativeLeavesNothing(t *testing.T) {
	c := native.Config{Spawner: spawner(t)}
	if os.Geteuid() != 0 {
		c.Waivers = waived("", cgroupBound).Waivers
	}
	calls := 300
	if os.Getenv("TOOLCELL_TEST_LONG") == "1" {
		calls = 10000
	}
	t.Setenv("TMPDIR", t.TempDir())
	outside := hostState(t)
	b := open(t, c)
	run := func() {
		res, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}})
		assert.NoError(t, err)
		assert.Equal(t, sandbox.StatusExited, res.Status)
	}
	burst := func() {
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(run)
		}
		wg.Wait()
	}
	burst() // lanes and pools grow to their size here
	descriptors := count(t, "/proc/self/fd")
	children := count(t, fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	for range calls {
		run()
	}
	burst()
	assert.Eventually(t, func() bool {
		return count(t, "/proc/self/fd") <= descriptors+2 && // a connection that is closed at this moment
			count(t, fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())) <= children
	}, 10*time.Second, 20*time.Millisecond, "descriptors before %d, now %d", descriptors, count(t, "/proc/self/fd"))
	require.NoError(t, b.Close())
	assert.Eventually(t, func() bool { return hostState(t) == outside }, 10*time.Second, 50*time.Millisecond,
		"before %+v, now %+v", outside, hostState(t))
}

// count returns the entries of a directory or the words of a file.
func count(t *testing.T, p string) int {
	t.Helper()
	if entries, err := os.ReadDir(p); err == nil {
		return len(entries)
	}
	b, err := os.ReadFile(p)
	require.NoError(t, err)
	return len(strings.Fields(string(b)))
}
