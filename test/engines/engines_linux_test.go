package engines_test

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/test/engines"
)

var pool engines.Pool

// TestMain lets this binary be the watchdog of the docker backend.
func TestMain(m *testing.M) {
	helper.Main()
	os.Exit(pool.Main(m))
}

// kinds are the engines that every test here runs on.
var kinds = []engines.Kind{engines.Docker, engines.Podman, engines.Nerdctl}

// each runs test on every engine, in a short run on docker.
func each(t *testing.T, test func(*testing.T, *engines.Engine)) {
	on(t, test, engines.Among(kinds...)...)
}

func on(t *testing.T, test func(*testing.T, *engines.Engine), kinds ...engines.Kind) {
	for _, k := range kinds {
		t.Run(string(k), func(t *testing.T) { test(t, pool.Start(t, k)) })
	}
}

// outcome is what a client printed, and its exit code.
type outcome struct {
	out, err string
	code     int
}

// run runs a client.
func run(t *testing.T, e *engines.Engine, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := e.Command(ctx, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// plain are the flags without which a container does not run everywhere: podman sets limits that a caller below them may
// not raise.
func plain() []string {
	return []string{"run", "--rm", "--network", "none", "--pull", "never", "--ulimit", "nofile=256:256", "--ulimit", "nproc=4096:4096"}
}

// hardened are the flags of a container that may do nothing, with limits on memory and processes.
func hardened() []string {
	return append(plain(), "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65532:65532",
		"--tmpfs", "/tmp:rw,noexec,nosuid,size=64m,mode=1777", "--memory", "64m", "--pids-limit", "64")
}

func with(flags []string, image string, argv ...string) []string {
	return append(append(flags, image), argv...)
}

// What the flags take away is there without them.
func TestHardened(t *testing.T) {
	attempts := map[string]string{
		"root file":    "touch /bin/x",
		"capability":   "chown 1:1 /tmp",
		"uid 0":        `test $(id -u) = 0`,
		"exec in /tmp": "cp /bin/true /tmp/true && /tmp/true",
		"memory":       "dd if=/dev/zero of=/dev/null bs=128M count=1",
		"processes":    "for i in $(seq 100); do sleep 1 & done; wait",
	}
	each(t, func(t *testing.T, e *engines.Engine) {
		image := e.Load(t, engines.Busybox())
		for name, script := range attempts {
			t.Run(name, func(t *testing.T) {
				control := run(t, e, with(plain(), image, "sh", "-c", script)...)
				require.Zero(t, control.code, "without the flags: %+v", control)
				confined := run(t, e, with(hardened(), image, "sh", "-c", script)...)
				assert.NotZero(t, confined.code, "with the flags: %+v", confined)
			})
		}
	})
}

// What listens on the host's loopback is reached over the host's network, and not without one; the one interface inside is
// the container's own loopback.
func TestNoNetwork(t *testing.T) {
	_, port, err := net.SplitHostPort(listen(t, "tcp", "127.0.0.1:0"))
	require.NoError(t, err)
	script := "nc -w 5 127.0.0.1 " + port + " </dev/null"
	each(t, func(t *testing.T, e *engines.Engine) {
		image := e.Load(t, engines.Busybox())
		open := plain()
		open[slices.Index(open, "none")] = "host"
		control := run(t, e, with(open, image, "sh", "-c", script)...)
		require.Zero(t, control.code, "over the host's network: %+v", control)
		r := run(t, e, with(hardened(), image, "sh", "-c", script)...)
		assert.NotZero(t, r.code, "%+v", r)
		r = run(t, e, with(hardened(), image, "ls", "/sys/class/net")...)
		require.Zero(t, r.code, "%+v", r)
		assert.Equal(t, "lo\n", r.out)
	})
}

// Python runs with its compiled modules.
func TestPython(t *testing.T) {
	each(t, func(t *testing.T, e *engines.Engine) {
		r := run(t, e, with(hardened(), e.Load(t, engines.Python()), "python3", "-c", "import json, ssl, ctypes; print(json.dumps([1]))")...)
		require.Zero(t, r.code, "%+v", r)
		assert.Equal(t, "[1]\n", r.out)
	})
}
