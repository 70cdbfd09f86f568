package engines_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/engines"
)

// bomb is a program that takes 128 MB, and prints what became of it.
const bomb = "dd if=/dev/zero of=/dev/null bs=128M count=1; echo code $?"

// gvisor are the flags with which docker runs a container under gVisor.
func gvisor(t *testing.T) (*engines.Engine, []string) {
	e := pool.Start(t, engines.Docker)
	e.RequireRunsc(t)
	return e, append(hardened(), "--runtime", engines.RunscRuntime)
}

// On cgroup v1 and v2 alike the kernel's kill ends the process that took too much; the one that started it goes on.
func TestOutOfMemory(t *testing.T) {
	each(t, func(t *testing.T, e *engines.Engine) {
		image := e.Load(t, engines.Busybox())
		r := run(t, e, with(plain(), image, "sh", "-c", bomb)...)
		require.Contains(t, r.out, "code 0", "without a limit: %+v", r)
		r = run(t, e, with(hardened(), image, "sh", "-c", bomb)...)
		assert.NotContains(t, r.out, "code 0", "with one: %+v", r)
	})
}

// Under gVisor the whole sandbox dies, and the engine says why.
func TestOutOfMemoryUnderRunsc(t *testing.T) {
	e, flags := gvisor(t)
	image := e.Load(t, engines.Busybox())
	control := run(t, e, with(append(plain(), "--runtime", engines.RunscRuntime), image, "sh", "-c", bomb)...)
	require.Contains(t, control.out, "code 0", "without a limit: %+v", control)
	create := append([]string{"create", "--name", "runsc-oom"}, flags[2:]...)
	require.Zero(t, run(t, e, with(create, image, "sh", "-c", bomb)...).code)
	defer run(t, e, "rm", "--force", "runsc-oom")
	assert.Equal(t, 137, run(t, e, "start", "--attach", "runsc-oom").code)
	state := run(t, e, "inspect", "--format", "{{.State.OOMKilled}} {{.State.ExitCode}}", "runsc-oom")
	assert.Equal(t, "true 137\n", state.out)
}

// gVisor's own threads count too, so the limit is wide; a fork bomb ends at it.
func TestProcessesUnderRunsc(t *testing.T) {
	e, flags := gvisor(t)
	flags = append(flags, "--pids-limit", "128", "--memory", "512m")
	image := e.Load(t, engines.Busybox())
	require.Zero(t, run(t, e, with(flags, image, "true")...).code, "one program is within the limit")
	r := run(t, e, with(flags, image, "sh", "-c", "for i in $(seq 300); do sleep 2 & done; echo all")...)
	assert.NotContains(t, r.out, "all", "%+v", r)
}

// A program's own exit code is found in the engine's record, whatever the client exits with.
func TestExitCodes(t *testing.T) {
	each(t, func(t *testing.T, e *engines.Engine) {
		image := e.Load(t, engines.Busybox())
		for _, code := range []string{"0", "125", "137"} {
			name := "exit-" + code
			create := append([]string{"create", "--name", name}, hardened()[2:]...)
			require.Zero(t, run(t, e, with(create, image, "sh", "-c", "exit "+code)...).code)
			run(t, e, "start", "--attach", name)
			r := run(t, e, "inspect", "--format", "{{.State.ExitCode}}", name)
			assert.Equal(t, code, strings.TrimSpace(r.out), "%+v", r)
			require.Zero(t, run(t, e, "rm", "--force", name).code)
		}
	})
}
