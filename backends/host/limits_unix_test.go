//go:build linux || darwin

package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// unlimited shows that a script succeeds without the limits, so that its failure under them says something.
func unlimited(t *testing.T, c sandbox.Command) {
	t.Helper()
	r, err := open(t, Unsandboxed).Run(context.Background(), sandbox.ContainerProfile{}, c)
	require.NoError(t, err)
	require.Equal(t, sandbox.StatusExited, r.Status, string(r.Stderr))
	require.Zero(t, r.ExitCode, string(r.Stderr))
}

func TestFileSize(t *testing.T) {
	c := sandbox.Command{Argv: []string{"/bin/sh", "-c", "exec head -c 2000000 /dev/zero >file"}, Dir: t.TempDir()}
	unlimited(t, c)
	r := run(t, sandbox.ContainerProfile{Limits: sandbox.Limits{FileSizeMB: 1}}, c)
	assert.Equal(t, sandbox.StatusFileSize, r.Status)
	assert.Equal(t, "SIGXFSZ", r.Signal)
	assert.Equal(t, []string{"a file grew beyond 1 MB"}, r.Hints)
	info, err := os.Stat(filepath.Join(c.Dir, "file"))
	require.NoError(t, err)
	assert.LessOrEqual(t, info.Size(), int64(1<<20))
}

func TestCPUTime(t *testing.T) {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{CPUSeconds: 1}}
	for _, script := range []string{"while :; do :; done", "trap '' XCPU; while :; do :; done"} {
		r := run(t, p, sh(script))
		assert.Equal(t, sandbox.StatusCPUTimeout, r.Status, "%s: %v", script, r.Usage.CPU())
		assert.Empty(t, r.Signal)
		assert.Equal(t, []string{"a process used up its 1 s of CPU time"}, r.Hints)
	}
}

func TestOpenFiles(t *testing.T) {
	c := sandbox.Command{Argv: []string{python(t), "-S", "-c", "f=[open('/dev/null') for _ in range(60)]"}}
	unlimited(t, c)
	r := run(t, sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: 40}}, c)
	assert.Equal(t, 1, r.ExitCode)
	assert.Contains(t, string(r.Stderr), "Too many open files")
}

func TestMemory(t *testing.T) {
	c := sandbox.Command{Argv: []string{python(t), "-S", "-c", "x=bytearray(300<<20); print(len(x))"}}
	unlimited(t, c)
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 200}}
	r := run(t, p, c)
	if memoryIsSkipped {
		assert.Zero(t, r.ExitCode)
		return
	}
	assert.Equal(t, 1, r.ExitCode)
	assert.Contains(t, string(r.Stderr), "MemoryError")
	c.Argv[3] = "x=bytearray(50<<20); print(len(x))"
	assert.Zero(t, run(t, p, c).ExitCode, "within the limit it works")
}

// The least memory limit does not keep this program from becoming another, or from telling why it did not.
func TestLeastMemory(t *testing.T) {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: sandbox.MinMemoryMB}}
	var env []string
	for i := range 7 {
		env = append(env, fmt.Sprintf("V%d=%s", i, strings.Repeat("x", 100_000)))
	}
	for range 10 {
		_, err := open(t, Limits).Run(context.Background(), p, sandbox.Command{Argv: []string{"/etc"}, Env: env})
		require.ErrorIs(t, err, sandbox.ErrNotExecutable)
		_, err = open(t, Limits).Ready(context.Background(), p)
		require.NoError(t, err)
	}
}

// Both the soft and the hard limit are set, so that the program cannot raise them again.
func TestLimitsAreHard(t *testing.T) {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: 99, CPUSeconds: 7, FileSizeMB: 3}}
	r := run(t, p, sh("ulimit -Sn; ulimit -Hn; ulimit -St; ulimit -Ht; ulimit -Sf; ulimit -Hf"))
	assert.Equal(t, []string{"99", "99", "7", "8", "6144", "6144"}, strings.Fields(string(r.Stdout)))
}

func TestUnsandboxedSetsNothing(t *testing.T) {
	own, err := exec.Command("/bin/sh", "-c", "ulimit -n; ulimit -t; ulimit -f").Output()
	require.NoError(t, err)
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: 99, CPUSeconds: 7, FileSizeMB: 3}}
	r, err := open(t, Unsandboxed).Run(context.Background(), p, sh("ulimit -n; ulimit -t; ulimit -f"))
	require.NoError(t, err)
	assert.Equal(t, string(own), string(r.Stdout))
	assert.Equal(t, Name, r.Backend)
}

// A process with a hard limit of its own gets that where it is asked for more.
func TestLimitAboveTheHardOneIsLowered(t *testing.T) {
	if os.Getenv("TEST_LOWERED") != "" {
		r := run(t, sandbox.ContainerProfile{Limits: sandbox.Limits{OpenFiles: 200}}, sh("ulimit -Sn; ulimit -Hn"))
		assert.Equal(t, "100\n100\n", string(r.Stdout))
		assert.Contains(t, r.Enforcement.Get(sandbox.LimitFiles).Reason, "RLIMIT_NOFILE = 100")
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n 100 && exec "$0" -test.run '^TestLimitAboveTheHardOneIsLowered$'`, self)
	cmd.Env = append(os.Environ(), "TEST_LOWERED=1")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, string(out))
}

func TestLowered(t *testing.T) {
	r := rlimit{soft: 10, hard: 11}
	assert.Equal(t, rlimit{soft: 10, hard: 11}, r.lowered(1<<64-1))
	assert.Equal(t, rlimit{soft: 10, hard: 10}, r.lowered(10))
	assert.Equal(t, rlimit{}, r.lowered(0))
}

func TestRlimitsValidate(t *testing.T) {
	assert.NoError(t, Rlimits{}.Validate())
	assert.NoError(t, Rlimits{1, 1 << 30, 3, 4}.Validate())
	for _, l := range []Rlimits{{CPUSeconds: -1}, {MemoryMB: 1<<30 + 1}, {OpenFiles: -5}, {FileSizeMB: -1}} {
		assert.ErrorIs(t, l.Validate(), sandbox.ErrInvalid)
	}
	assert.Equal(t, runtime.GOOS == "darwin", len(Rlimits{MemoryMB: 1}.Skipped()) == 1)
	assert.Empty(t, Rlimits{CPUSeconds: 1}.Skipped())
}
