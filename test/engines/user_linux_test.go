package engines_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// ordinaryVariable is set in the process that is an ordinary user: the docker command, the image and the helper.
const ordinaryVariable = "TOOLCELL_TEST_ORDINARY"

// ordinary is an id that nobody has.
const ordinary = 61234

// What a program writes into a private workspace belongs to who called, and runs in the next call: for an ordinary user, who
// may use docker's socket, and for root.
func TestWriteThenRun(t *testing.T) {
	if said := os.Getenv(ordinaryVariable); said != "" {
		part := strings.Split(said, "\n")
		writeThenRun(t, docker.Config{Binary: part[0], Image: part[1], Helper: part[2]}, ordinary)
		return
	}
	e := pool.Start(t, engines.Docker)
	image, helper := e.Load(t, engines.Busybox()), conformance.Build(t, helperPackage)
	t.Run("root", func(t *testing.T) {
		e.Setenv(t)
		writeThenRun(t, docker.Config{Binary: e.Binary, Image: image, Helper: helper}, 65532)
	})
	t.Run("ordinary user", func(t *testing.T) {
		openTo(t, e)
		dir := publicDir(t)
		self, err := os.ReadFile("/proc/self/exe")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "self.test"), self, 0o755))
		tmp := filepath.Join(dir, "tmp")
		require.NoError(t, os.Mkdir(tmp, 0o700))
		require.NoError(t, os.Chown(tmp, ordinary, ordinary))
		cmd := exec.Command(filepath.Join(dir, "self.test"), "-test.run=^TestWriteThenRun$", "-test.v", "-test.timeout=5m")
		cmd.Dir = dir
		cmd.Env = append([]string{
			ordinaryVariable + "=" + strings.Join([]string{e.Binary, image, helper}, "\n"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "HOME=" + tmp,
		}, e.Env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "as uid %d:\n%s", ordinary, out)
		assert.Contains(t, string(out), "--- PASS: TestWriteThenRun")
	})
}

// openTo lets everybody use the engine's socket.
func openTo(t *testing.T, e *engines.Engine) {
	for _, kv := range e.Env {
		if path, ok := strings.CutPrefix(kv, "DOCKER_HOST=unix://"); ok {
			require.NoError(t, os.Chmod(path, 0o666))
			require.NoError(t, os.Chmod(filepath.Dir(path), 0o711))
			return
		}
	}
	require.Fail(t, "the engine has no socket", "%q", e.Env)
}

func writeThenRun(t *testing.T, c docker.Config, owner int) {
	c.ProbeTimeout = probeTimeout
	b, err := docker.Open(t.Context(), c)
	require.NoError(t, err)
	defer func() { assert.NoError(t, b.Close()) }()
	dir := filepath.Join(publicDir(t), "workspace")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, owner, owner))
	}
	p := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: dir, Target: "/work", Writable: true, Exec: true}}}
	res, err := b.Run(t.Context(), p, sh("printf '#!/bin/sh\\nid -u; echo ran' > /work/tool && chmod 700 /work/tool"))
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, "%s", res.Stderr)
	info, err := os.Stat(filepath.Join(dir, "tool"))
	require.NoError(t, err)
	assert.EqualValues(t, owner, info.Sys().(*syscall.Stat_t).Uid)
	res, err = b.Run(t.Context(), p, sandbox.Command{Argv: []string{"/work/tool"}})
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%d\nran\n", owner), string(res.Stdout), "%s", res.Stderr)
}
