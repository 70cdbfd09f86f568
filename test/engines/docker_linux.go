package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// RunscRuntime is the name under which gVisor is registered with Docker, where it is installed.
const RunscRuntime = "runsc"

// startDocker starts a dockerd, which starts its containerd.
func startDocker() (e *Engine, err error) {
	server, err := find("dockerd", "docker.io")
	if err != nil {
		return nil, err
	}
	client, err := find("docker", "docker.io")
	if err != nil {
		return nil, err
	}
	dir, err := newDir(Docker)
	if err != nil {
		return nil, err
	}
	parent := "/" + filepath.Base(dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, clean(dir, parent))
		}
	}()
	socket := filepath.Join(dir, "sock")
	cmd, err := dockerd(server, dir, parent)
	if err != nil {
		return nil, err
	}
	d, err := startDaemon(cmd, dir)
	if err != nil {
		return nil, err
	}
	e = &Engine{Kind: Docker, Binary: client, Dir: dir, Env: []string{"DOCKER_HOST=unix://" + socket, "DOCKER_CONTEXT="}}
	e.daemon, e.stop = d, func() error { return errors.Join(e.removeAll(), e.daemon.stop(), clean(dir, parent)) }
	if err := e.answers(); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return e, nil
}

// answers waits until the daemon does.
func (e *Engine) answers() error {
	return e.daemon.await(func() error {
		_, err := e.output("version", "--format", "{{.Server.Version}}")
		return err
	})
}

// Restart stops the daemon, which stops its containers, and starts it again on the same data.
func (e *Engine) Restart() error {
	old := e.daemon.cmd
	if err := e.daemon.stop(); err != nil {
		return err
	}
	cmd := exec.Command(old.Path, old.Args[1:]...)
	cmd.Env = old.Env
	d, err := startDaemon(cmd, e.Dir)
	if err != nil {
		return err
	}
	e.daemon = d
	return e.answers()
}

// dockerd returns the daemon's command. It touches neither the host's network nor a cgroup that is not below parent; the
// cgroupfs driver is the one that needs no systemd.
func dockerd(server, dir, parent string) (*exec.Cmd, error) {
	config := filepath.Join(dir, "daemon.json")
	runtimes := map[string]any{}
	if runsc, err := find("runsc", "runsc"); err == nil {
		// The platform that needs neither /dev/kvm nor a runsc newer than Debian 12's.
		runtimes[RunscRuntime] = map[string]any{"path": runsc, "runtimeArgs": []string{"--network=none", "--platform=ptrace"}}
	}
	b, err := json.Marshal(map[string]any{"runtimes": runtimes})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, b, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(server, "--config-file", config, "--host", "unix://"+filepath.Join(dir, "sock"),
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "--cgroup-parent", parent, "--exec-opt", "native.cgroupdriver=cgroupfs",
		"--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false", "--userland-proxy=false")
	// containerd, runc and docker-init are found through PATH.
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/usr/bin:/sbin:/bin")
	return cmd, nil
}

// removeAll removes every container of the engine, and says which were left by the tests.
func (e *Engine) removeAll() error {
	left, err := e.output("ps", "--all", "--quiet")
	ids := strings.Fields(left)
	if err != nil || len(ids) == 0 {
		return err
	}
	names, err := e.output("ps", "--all", "--format", "{{.Names}} {{.Image}} {{.Status}}")
	if err != nil {
		return err
	}
	if _, err := e.output(append([]string{"rm", "--force", "--volumes"}, ids...)...); err != nil {
		return err
	}
	return fmt.Errorf("containers were left: %s", names)
}

// RequireRunsc skips t when this machine has no gVisor to run, or fails it when it has to have one.
func (e *Engine) RequireRunsc(t testing.TB) {
	t.Helper()
	_, err := find("runsc", "runsc")
	skip(t, err)
	require.NoError(t, err)
}
