//go:build linux

package conformance_test

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	alive, held := 0, groups{}
	for range kills() {
		alive += killOnce(t, program, held)
	}
	require.Positive(t, alive, "no sandbox was ever seen running, so nothing was shown")
	c := native.Config{Spawner: program}
	if os.Geteuid() != 0 {
		c = waived(program, cgroupBound)
	}
	b := open(t, c)
	require.NoError(t, b.Close())
	if os.Geteuid() == 0 {
		require.NotEmpty(t, held, "no cgroup was seen, so its absence would mean nothing")
	}
	assert.Eventually(t, func() bool { return hostState(t) == before && len(held.left()) == 0 }, 10*time.Second,
		50*time.Millisecond, "before %+v, now %+v, cgroups %q", before, hostState(t), held.left())
}

// killOnce kills one caller, adds its cgroups to held and returns how many processes of its sandboxes were alive just before.
func killOnce(t *testing.T, program string, held groups) int {
	t.Helper()
	mark := fmt.Sprintf("killed-caller-%d-%d", os.Getpid(), rand.Int64())
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestNativeCallerKilled$")
	cmd.Env = append(os.Environ(), callerVariable+"="+program+"\n"+mark)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, pace := bufio.NewScanner(out), 0
	for pace == 0 && lines.Scan() {
		_, _ = fmt.Sscanf(lines.Text(), "started, %d ms a call", &pace) // other lines are go test's
	}
	require.Positive(t, pace, "the caller did not start: %v", lines.Err())
	time.Sleep(time.Duration(rand.IntN(4*pace)) * time.Millisecond) // the moment is what the test varies, not what it measures
	alive := len(withArgument(t, mark+"\x00"))
	maps.Copy(held, groupsOf(t, cmd.Process.Pid))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed, as it was meant to be
	assert.Eventually(t, func() bool { return len(withArgument(t, mark)) == 0 }, 10*time.Second, 10*time.Millisecond,
		"left alive: %v", withArgument(t, mark))
	return alive
}

// caller starts sandboxes, of which each has children that ignore signals, and is killed. It says first how long a call
// takes here, so that on a slow machine too some moments are in the middle of one.
func caller(t *testing.T, spec string) {
	program, mark, _ := strings.Cut(spec, "\n")
	c := native.Config{Spawner: program}
	if os.Geteuid() != 0 {
		c = waived(program, cgroupBound)
	}
	b := open(t, c)
	begin := time.Now()
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"/bin/true"}})
	require.NoError(t, err)
	pace := int(max(50*time.Millisecond, time.Since(begin)) / time.Millisecond)
	fmt.Printf("started, %d ms a call\n", pace)
	script := "trap '' TERM HUP INT; setsid sh -c 'sleep 600; true' " + mark + " & while :; do sleep 0.01; done"
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				_, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{
					Argv: []string{"/bin/sh", "-c", script, mark}, Timeout: time.Duration(pace+rand.IntN(4*pace)) * time.Millisecond,
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

// state is what calls must not leave on the host.
type state struct{ mounts, temporary int }

func hostState(t *testing.T) state {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	return state{mounts: strings.Count(string(mounts), "\n"), temporary: count(t, os.TempDir())}
}

// groups are the cgroup directories of one instance, by inode: those that the process pid has locked, so that other tests
// do not matter.
type groups map[uint64]bool

func groupsOf(t *testing.T, pid int) groups {
	t.Helper()
	locks, err := os.ReadFile("/proc/locks")
	require.NoError(t, err)
	held := groups{}
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line) // "1: FLOCK ADVISORY WRITE pid major:minor:inode start end", proc_locks(5)
		if len(f) < 6 || f[1] != "FLOCK" || f[4] != strconv.Itoa(pid) {
			continue
		}
		parts := strings.Split(f[5], ":")
		inode, err := strconv.ParseUint(parts[len(parts)-1], 10, 64)
		require.NoError(t, err)
		held[inode] = true
	}
	return held
}

// left returns those of g that still exist.
func (g groups) left() []string {
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), "toolcell-") {
			return nil // groups of others come and go
		}
		var st syscall.Stat_t
		if syscall.Stat(p, &st) == nil && g[st.Ino] {
			found = append(found, p)
		}
		return nil
	})
	return found
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
	held := groupsOf(t, os.Getpid())
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
	assert.Eventually(t, func() bool { return hostState(t) == outside && len(held.left()) == 0 }, 10*time.Second,
		50*time.Millisecond, "before %+v, now %+v, cgroups %q", outside, hostState(t), held.left())
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
