//go:build unix

package conformance

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// limits: each limit ends the program with a status of its own, or is felt by the program as an ordinary error.
func (e *env) limits(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		if e.promised(t, sandbox.LimitMemory) {
			e.memory(t)
		}
	})
	t.Run("processes", func(t *testing.T) {
		if e.promised(t, sandbox.LimitProcesses) {
			e.processes(t)
		}
	})
	t.Run("CPU time", e.cpuTime)
	t.Run("cores", func(t *testing.T) {
		if e.promised(t, sandbox.LimitCPU) {
			e.cores(t)
		}
	})
	t.Run("file size", e.fileSize)
	t.Run("scratch", e.scratch)
	t.Run("open files", e.openFiles)
	t.Run("another call's limits", e.ownLimits)
	t.Run("the least that is accepted", e.leastLimits)
}

// memory: whatever takes it, the tree dies as a whole and the status says why.
func (e *env) memory(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) {
		p.Limits.MemoryMB, p.TmpfsMB, p.ShmMB, p.Limits.FileSizeMB = 64, 512, 512, 512
	})
	probe := strings.Join(e.probe("alloc", "256"), " ")
	for name, c := range map[string]sandbox.Command{
		"direct":                        {Argv: e.probe("alloc", "256")},
		"child, parent would survive":   sh(probe + "; echo survived; sleep 600"),
		"grandchild in its own session": sh("setsid " + probe + " & sleep 600"),
		"interpreter":                   {Argv: []string{"python3", "-c", "x = bytearray(256 << 20)"}},
		"shared memory":                 {Argv: e.probe("fill", "/dev/shm/x", "256")},
		"scratch":                       {Argv: e.probe("fill", "/tmp/x", "256")},
	} {
		t.Run(name, func(t *testing.T) {
			res := e.run(t, p, c)
			assert.Equal(t, sandbox.StatusOOM, res.Status, "stdout %q, stderr %q", res.Stdout, res.Stderr)
			assert.Equal(t, -1, res.ExitCode)
			assert.Empty(t, res.Signal)
			assert.NotContains(t, string(res.Stdout), "survived")
			assert.NotEmpty(t, res.Hints)
		})
	}
	t.Run("below the limit", func(t *testing.T) {
		assert.Equal(t, "allocated 20\n", e.ok(t, p, sandbox.Command{Argv: e.probe("alloc", "20")}))
	})
	t.Run("killed by itself is no oom", func(t *testing.T) {
		assert.Equal(t, sandbox.StatusSignaled, e.run(t, p, sh("kill -9 $$")).Status)
	})
}

// processes: the bound holds, for a polite program and for a fork bomb.
func (e *env) processes(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.PIDs, p.Limits.Wall = 32, 5*time.Second })
	out := e.ok(t, p, sandbox.Command{Argv: e.probe("forks", "100")})
	n, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	assert.Less(t, n, 32)
	m := marker(t)
	p.Limits.Wall = 2 * time.Second
	res := e.run(t, p, sh("f() { f | f & }; f; sleep 600", m))
	assert.Contains(t, []sandbox.Status{sandbox.StatusTimeout, sandbox.StatusExited}, res.Status)
	gone(t, m)
	if res.Usage.MaxProcesses != nil {
		assert.LessOrEqual(t, *res.Usage.MaxProcesses, int64(32))
	}
	assert.Equal(t, "fine\n", e.ok(t, p, sh("echo fine")))
}

// cpuTime counts the whole tree and tells itself from the wall clock.
func (e *env) cpuTime(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) {
		p.Limits.CPUSeconds, p.Limits.Wall, p.Limits.CPUs = 1, 40*time.Second, 2
	})
	for name, c := range map[string]sandbox.Command{
		"one process":              {Argv: e.probe("spin")},
		"children":                 {Argv: e.probe("spin", "3")},
		"short-lived children":     sh("while :; do head -c 3000000 /dev/zero >/dev/null; done"),
		"behind a sleeping parent": sh(strings.Join(e.probe("spin"), " ") + " & sleep 600"),
	} {
		t.Run(name, func(t *testing.T) {
			res := e.run(t, p, c)
			assert.Equal(t, sandbox.StatusCPUTimeout, res.Status, "stderr: %s", res.Stderr)
			assert.Equal(t, -1, res.ExitCode)
			assert.Empty(t, res.Signal)
		})
	}
}

// cores: with half a core, a second of wall clock holds clearly less than a second of CPU time.
func (e *env) cores(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.CPUs, p.Limits.Wall = 0.25, 2*time.Second })
	res := e.run(t, p, sandbox.Command{Argv: e.probe("spin", "2")})
	require.Equal(t, sandbox.StatusTimeout, res.Status)
	cpu := res.Usage.CPU()
	require.NotNil(t, cpu, "a bounded CPU is a measured one")
	assert.Less(t, *cpu, res.Usage.Wall)
}

// fileSize: a file that outgrows the limit ends the program, wherever it is.
func (e *env) fileSize(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.FileSizeMB = 1 })
	res := e.run(t, p, sandbox.Command{Argv: []string{"dd", "if=/dev/zero", "of=/tmp/x", "bs=65536", "count=32"}})
	assert.Equal(t, sandbox.StatusFileSize, res.Status, "stderr: %s", res.Stderr)
	assert.Equal(t, "SIGXFSZ", res.Signal)
	assert.Equal(t, -1, res.ExitCode)
	e.ok(t, p, sandbox.Command{Argv: []string{"dd", "if=/dev/zero", "of=/tmp/x", "bs=65536", "count=16"}})
}

// scratch: size and inodes of /tmp and /dev/shm are bounded, and feel like a full disk. A report may say that the number of
// files has no bound of its own.
func (e *env) scratch(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.TmpfsMB, p.ShmMB = 4, 4 })
	report, err := e.b.Ready(t.Context(), p)
	require.NoError(t, err)
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		res := e.run(t, p, sandbox.Command{Argv: e.probe("fill", dir+"/x", "16")})
		assert.Equal(t, 9, res.ExitCode, "%s: %s", dir, res.Stdout)
		assert.Contains(t, string(res.Stderr), "no space left on device")
		if strings.Contains(report.Get(sandbox.LimitFiles).Reason, "number of files") {
			continue
		}
		res = e.run(t, p, sandbox.Command{Argv: e.probe("inodes", dir, "200000")})
		assert.Equal(t, 9, res.ExitCode, "%s holds 200000 files: %s", dir, res.Stdout)
		assert.Contains(t, string(res.Stderr), "no space left on device")
	}
	big := e.with(func(p *sandbox.ContainerProfile) { p.TmpfsMB = 64; p.Limits.FileSizeMB = 50 })
	res := e.run(t, big, sh("for i in 1 2 3 4 5; do head -c 50000000 /dev/zero > /tmp/$i || exit 7; done"))
	assert.Equal(t, 7, res.ExitCode)
}

func (e *env) openFiles(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.OpenFiles = 20 })
	out := e.ok(t, p, sandbox.Command{Argv: []string{"python3", "-c", `
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError as err:
    print(err.errno, len(held) < 20)`}})
	assert.Equal(t, "24 True\n", out)
}

// ownLimits: what one call was given says nothing about the next.
func (e *env) ownLimits(t *testing.T) {
	if !e.promised(t, sandbox.LimitMemory) {
		return
	}
	small := e.with(func(p *sandbox.ContainerProfile) { p.Limits.MemoryMB = 64 })
	large := e.with(func(p *sandbox.ContainerProfile) { p.Limits.MemoryMB = 512 })
	c := sandbox.Command{Argv: e.probe("alloc", "120")}
	for range 2 {
		res := e.run(t, small, c)
		assert.Equal(t, sandbox.StatusOOM, res.Status, "signal %q, stderr %q", res.Signal, res.Stderr)
		assert.Equal(t, sandbox.StatusExited, e.run(t, large, c).Status)
	}
}

// leastLimits: what validation accepts is enough for a small program, so that a limit is never a set-up error.
func (e *env) leastLimits(t *testing.T) {
	for name, change := range map[string]func(*sandbox.ContainerProfile){
		"memory":        func(p *sandbox.ContainerProfile) { p.Limits.MemoryMB = max(sandbox.MinMemoryMB, e.LeastMemoryMB) },
		"processes":     func(p *sandbox.ContainerProfile) { p.PIDs = 1 },
		"cores":         func(p *sandbox.ContainerProfile) { p.Limits.CPUs, p.Limits.Wall = 0.01, time.Hour }, // slow, and slower in an emulator
		"open files":    func(p *sandbox.ContainerProfile) { p.Limits.OpenFiles = 8 },
		"file size":     func(p *sandbox.ContainerProfile) { p.Limits.FileSizeMB = 1 },
		"scratch":       func(p *sandbox.ContainerProfile) { p.TmpfsMB = 1 },
		"shared memory": func(p *sandbox.ContainerProfile) { p.ShmMB = 1 },
		"output":        func(p *sandbox.ContainerProfile) { p.Limits.OutputKB = 1 },
		"CPU time":      func(p *sandbox.ContainerProfile) { p.Limits.CPUSeconds = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			e.ok(t, e.with(change), sandbox.Command{Argv: []string{"true"}})
		})
	}
}
