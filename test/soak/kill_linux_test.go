package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
)

// callerVariable makes this program a caller that will be killed. Its value marks what it runs.
const (
	callerVariable = "TOOLCELL_TEST_CALLER"
	parentVariable = "TOOLCELL_TEST_CGROUP"
)

// caller makes calls from four goroutines until it is killed.
func caller(marker string) {
	b, err := native.Open(context.Background(), config(os.Getenv(parentVariable), os.Getppid()))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	script := "for i in 1 2 3; do sleep 100 & done; test $1 = long && wait; exit 0"
	// What stands ready beside what runs is to go with the caller too: two sandboxes, and one with a Python that waits.
	python := sandbox.Command{Argv: []string{"python3", "-c", "pass", marker}}
	for _, a := range []sandbox.Arming{{Count: 2}, {Count: 1, Like: python, Interpreter: sandbox.InterpreterPython}} {
		if err := b.(sandbox.Armer).Arm(context.Background(), sandbox.ContainerProfile{}, a); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("up")
	var wg sync.WaitGroup
	for _, kind := range []string{"long", "short", "short", "long"} {
		wg.Go(func() {
			for {
				_, err := b.Run(context.Background(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"sh", "-c", script, marker, kind}})
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
			}
		})
	}
	wg.Wait()
}

// TestSoakKilledCallers: a caller that is killed at any moment takes everything along, and the next start removes the
// cgroups that it could not.
func TestSoakKilledCallers(t *testing.T) {
	c := newCounter(t)
	rounds := pick(200, 20)
	before := c.now(t)
	var seen, slowest int
	for n := range rounds {
		marker := fmt.Sprintf("toolcell-soak-%d-%d", os.Getpid(), n)
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{callerVariable + "=" + marker, parentVariable + "=" + c.parent, "TMPDIR=" + c.temp, "PATH=/usr/bin:/bin"}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		if n%4 != 0 { // or at a moment of its start
			word := make([]byte, 3)
			_, err := out.Read(word)
			require.NoError(t, err)
			require.Equal(t, "up\n", string(word))
		}
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		seen += len(survivors(marker))
		require.NoError(t, cmd.Process.Kill())
		// Two empty looks, one after the other: what was being started as the caller died may not show in the first.
		waited := 0
		for empty := 0; waited < 500 && empty < 2; waited++ {
			if len(survivors(marker)) > 0 {
				empty = 0
			} else {
				empty++
			}
			time.Sleep(10 * time.Millisecond)
		}
		slowest = max(slowest, waited)
		assert.Empty(t, survivors(marker), "round %d", n)
		require.Error(t, cmd.Wait())
	}
	t.Logf("%d callers killed with %d processes below them; the last was gone after %d ms at most", rounds, seen, 10*slowest)
	assert.NotZero(t, seen, "no caller was killed in a call, so nothing was tried")
	// A start removes what is empty, and a process that is being reaped is still in its cgroup.
	require.Eventually(t, func() bool { return len(c.members()) == 0 }, 20*time.Second, 10*time.Millisecond)
	b, err := native.Open(t.Context(), config(c.parent, os.Getpid()))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	c.nothingMore(t, before, "after the next start")
}

// survivors lists processes of a killed caller's sandboxes: by the marker in their arguments, and as root by host ids
// that nobody else has.
func survivors(marker string) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []int
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		if err != nil || strings.Contains(string(status), "\nState:\tZ") {
			continue
		}
		if strings.Contains(string(line), marker) || ours(string(status)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			out = append(out, pid)
		}
	}
	return out
}

func ours(status string) bool {
	_, after, _ := strings.Cut(status, "\nUid:\t")
	id, _, _ := strings.Cut(after, "\t")
	uid, err := strconv.ParseUint(id, 10, 32)
	first := uint64(idBase(os.Getpid()))
	return err == nil && uid >= first && uid < first+idCount
}
