package cgroup

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// neighbour is another process with a manager and, in one of its groups, a process that outlives it.
type neighbour struct {
	cmd  *exec.Cmd
	dirs []string
}

func startNeighbour(t *testing.T) *neighbour {
	t.Helper()
	open(t) // skips where there are no cgroups
	n := &neighbour{cmd: command("instance 0", nil)}
	stdin, err := n.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := n.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, n.cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		n.cmd.Process.Kill()
		n.cmd.Wait()
		_, err := Sweep(Config{})
		assert.NoError(t, err)
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "ready") {
		n.dirs = append(n.dirs, lines.Text())
	}
	require.True(t, strings.HasPrefix(lines.Text(), "ready"), lines.Text())
	require.NotEmpty(t, n.dirs)
	return n
}

// inhabitants counts the processes in the neighbour's groups.
func (n *neighbour) inhabitants(t *testing.T) (count int) {
	t.Helper()
	for _, d := range n.dirs {
		files, err := filepath.Glob(filepath.Join(d, "call-*", "cgroup.procs"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			count += len(strings.Fields(string(text)))
		}
	}
	return count
}

func TestSweepLeavesLiveInstances(t *testing.T) {
	n := startNeighbour(t)
	require.Eventually(t, func() bool { return n.inhabitants(t) == len(n.dirs) }, 10*time.Second, time.Millisecond)
	removed, err := Sweep(Config{})
	require.NoError(t, err)
	for _, d := range n.dirs {
		assert.NotContains(t, removed, d)
		assert.DirExists(t, d)
	}
	assert.Equal(t, len(n.dirs), n.inhabitants(t), "its process lives")
}

func TestOpenSweepsDeadInstances(t *testing.T) {
	n := startNeighbour(t)
	require.Eventually(t, func() bool { return n.inhabitants(t) == len(n.dirs) }, 10*time.Second, time.Millisecond)
	require.NoError(t, n.cmd.Process.Kill())
	require.Error(t, n.cmd.Wait())
	for _, d := range n.dirs {
		require.DirExists(t, d, "control: kill -9 leaves the directories behind")
	}
	require.Equal(t, len(n.dirs), n.inhabitants(t), "control: and the process in them")
	open(t)
	for _, d := range n.dirs {
		assert.NoDirExists(t, d)
	}
}

// TestSweepLeavesOthers has directories that no instance made, and one of another user.
func TestSweepLeavesOthers(t *testing.T) {
	base := t.TempDir()
	ours, theirs := newName(), newName()
	others := []string{"toolcell-", "toolcell-123", "toolcell-0123456789ABCDEF", "toolcell-0123456789abcdeg", ours + ".scope", "x"}
	for _, name := range append(others, ours, theirs) {
		require.NoError(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(filepath.Join(base, theirs), 65534, 65534))
		others = append(others, theirs)
	}
	removed, err := sweepDir(base)
	require.NoError(t, err)
	assert.Contains(t, removed, filepath.Join(base, ours), "control: it does sweep")
	for _, name := range others {
		assert.DirExists(t, filepath.Join(base, name))
	}
	removed, err = sweepDir(filepath.Join(base, "none"))
	assert.NoError(t, err)
	assert.Empty(t, removed)
}
