package engines_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/engines"
)

// ownerVariable makes this binary the one that is killed.
const ownerVariable = "TOOLCELL_TEST_ENGINE_OWNER"

// found is what the killed binary prints before the directory of its engine.
const found = "engine in "

// The daemon of a test binary that was killed ends, and the next binary removes what is left of it.
func TestKilledOwner(t *testing.T) {
	if os.Getenv(ownerVariable) == "1" {
		fmt.Println(found + pool.Start(t, engines.Docker).Dir)
		select {}
	}
	pool.Start(t, engines.Docker)
	dir, kill := owner(t)
	require.NotEmpty(t, holding(t, dir), "the daemon names its directory")
	kill()
	require.Eventually(t, func() bool { return len(holding(t, dir)) == 0 }, time.Minute, 50*time.Millisecond)
	require.DirExists(t, dir)
	var next engines.Pool
	next.Start(t, engines.Docker)
	assert.NoDirExists(t, dir)
	assert.NoError(t, next.Stop())
}

// owner starts this binary again, as the owner of a docker, and returns the engine's directory and how to kill the binary.
func owner(t *testing.T) (string, func()) {
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestKilledOwner$", "-test.timeout", "5m")
	cmd.Env = append(os.Environ(), ownerVariable+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill := func() {
		_ = cmd.Process.Kill() // the second time it is gone
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	for s := bufio.NewScanner(out); s.Scan(); {
		if dir, ok := strings.CutPrefix(s.Text(), found); ok {
			return dir, kill
		}
	}
	require.Fail(t, "the engine did not start")
	return "", kill
}

// holding returns the processes that have dir among their arguments.
func holding(t *testing.T, dir string) []string {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var pids []string
	for _, p := range lines {
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), dir) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}
	return pids
}
