package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// dockerGateway is a gateway that knows nothing but docker's command line. Its runtime.sandbox.binary is toolcell, and its
// command lines are those of a gateway that is there, in its order of flags.
type dockerGateway struct {
	binary string
	env    []string
	root   string // of the workspace
}

// outcome is what such a gateway sees of a call.
type outcome struct {
	stdout, stderr string
	code           int
}

func newDockerGateway(t *testing.T) dockerGateway {
	t.Helper()
	programs.RequireNative(t)
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "config.yaml"),
		"runtime: {sandbox: {images: {'python:3.12-slim': host, 'node:22-alpine': host, 'bash:5': host}}}\n")
	root := filepath.Join(dir, "workspace")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	return dockerGateway{
		binary: programs.Toolcell(), root: root,
		env: append(os.Environ(), "TOOLCELL_CONFIG="+file, "GATEWAY_KEY=sk-of-the-gateway"),
	}
}

// exec runs the binary with these words after it.
func (g dockerGateway) exec(ctx context.Context, stdin string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, g.binary, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = g.env, strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	o := outcome{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.code = exit.ExitCode()
	case err != nil:
		o.code = -1
	}
	return o
}

// privileged is the command line of the runner of builtins, in its first version.
func (g dockerGateway) privileged(dir string, env []string, argv ...string) []string {
	args := strings.Fields("run --rm -i --network none --read-only --cap-drop ALL --security-opt no-new-privileges --pids-limit 128 " +
		"--tmpfs /tmp:rw,noexec,nosuid,size=64m")
	args = append(args, "-v", g.root+":/workspace:rw", "-w", dir)
	args = append(args, strings.Fields("--memory 512m --cpus 1 --ulimit nofile=256:256 --ulimit fsize=67108864:67108864")...)
	for _, e := range env {
		args = append(args, "-e", e)
	}
	return append(append(args, "python:3.12-slim"), argv...)
}

// hardened is its second version: a network by name, a user, a runtime, a proxy.
func (g dockerGateway) hardened(network, runtime string, argv ...string) []string {
	args := append([]string{"run", "--rm", "-i", "--network", network}, strings.Fields("--read-only --user 65532:65532 --cap-drop ALL "+
		"--security-opt no-new-privileges --pids-limit 128 --tmpfs /tmp:rw,noexec,nosuid,size=64m")...)
	args = append(args, "-v", g.root+":/workspace:rw", "-w", "/workspace")
	args = append(args, strings.Fields("--memory 512m --cpus 1 --ulimit nofile=256:256 --ulimit fsize=67108864:67108864")...)
	if runtime != "" {
		args = append(args, "--runtime", runtime)
	}
	args = append(args, "-e", "HTTPS_PROXY=http://127.0.0.1:1", "-e", "SOULACY_EGRESS_ALLOWLIST=example.org")
	return append(append(args, "python:3.12-slim"), argv...)
}

// executor are the command lines of the executor of Python tools: today's, the hardened one, and that of the memo.
func (g dockerGateway) executor(python, script string) map[string][]string {
	data := g.root + ":/data:ro"
	tmp := strings.Fields("--tmpfs /tmp:rw,noexec,nosuid,size=64m")
	caps := strings.Fields("--cap-drop ALL --security-opt no-new-privileges --pids-limit 128")
	tail := []string{"python:3.12-slim", python, "-c", script}
	join := func(parts ...[]string) []string {
		var out []string
		for _, p := range append(parts, tail) {
			out = append(out, p...)
		}
		return out
	}
	return map[string][]string{
		"today": join(strings.Fields("run --rm -i --network none"), []string{"-v", data}),
		"hardened": join(strings.Fields("run --rm -i --network none --read-only --user 65532:65532"), caps, tmp,
			[]string{"-v", data}),
		"memo": join(strings.Fields("run --rm -i --network none --read-only"), caps, tmp,
			strings.Fields("--user 65532:65532 -w /tmp --memory 512m --cpus 1 --ulimit nofile=256:256 --ulimit fsize=67108864:67108864"),
			[]string{"-v", data}, strings.Fields("-e HOME=/tmp -e PYTHONDONTWRITEBYTECODE=1")),
	}
}

// runCode is the command line of run_code; with a network this gateway leaves the flag out.
func runCode(network bool, image string, argv ...string) []string {
	args := strings.Fields("run --rm -i --memory 512m --cpus 1 --pids-limit 256")
	if !network {
		args = append(args, "--network", "none")
	}
	return append(append(args, image), argv...)
}

// look is a program that tells what it sees of its confinement, as JSON.
const look = `
import json, os, resource, sys
status = dict(l.split(":", 1) for l in open("/proc/self/status"))
def denied(f):
    try: f(); return False
    except OSError: return True
print(json.dumps({
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "caps": [status[c].strip() for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privs": status["NoNewPrivs"].strip(), "seccomp": status["Seccomp"].strip(),
    "interfaces": sorted(l.split(":")[0].strip() for l in open("/proc/net/dev") if ":" in l),
    "processes": len([p for p in os.listdir("/proc") if p.isdigit()]),
    "root_writable": not denied(lambda: open("/usr/x", "w")),
    "home": os.path.exists("/home"), "root": os.path.exists("/root"), "sys": os.path.exists("/sys/class"),
    "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0], "env": dict(os.environ), "dir": os.getcwd(),
    "stdin": sys.stdin.read(), "args": sys.argv[1:],
}))`

// seen is what look tells.
type seen struct {
	UID, GID        int
	Groups          []int
	Caps            []string
	NoNewPrivs      string `json:"no_new_privs"`
	Seccomp         string
	Interfaces      []string
	Processes       int
	RootWritable    bool `json:"root_writable"`
	Home, Root, Sys bool
	NoFile          int `json:"nofile"`
	Env             map[string]string
	Dir, Stdin      string
	Args            []string
}

// confined requires that the program ran, and asserts that it ran natively confined.
func confined(t *testing.T, o outcome) seen {
	t.Helper()
	require.Equal(t, 0, o.code, o.stderr)
	assert.Empty(t, o.stderr)
	var s seen
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &s), o.stdout)
	assert.NotZero(t, s.UID)
	assert.NotZero(t, s.GID)
	for _, c := range s.Caps {
		assert.Equal(t, "0000000000000000", c)
	}
	assert.Equal(t, "1", s.NoNewPrivs)
	assert.Equal(t, "2", s.Seccomp)
	assert.Equal(t, []string{"lo"}, s.Interfaces)
	assert.LessOrEqual(t, s.Processes, 2, "its own init and itself")
	assert.False(t, s.RootWritable)
	assert.False(t, s.Home || s.Root || s.Sys, "nothing of the host")
	assert.NotContains(t, s.Env, "GATEWAY_KEY")
	assert.Equal(t, 256, s.NoFile)
	return s
}

// The control: outside, the same program sees a host.
func TestLookSeesAHost(t *testing.T) {
	cmd := exec.Command("python3", "-c", look)
	cmd.Env = append(os.Environ(), "GATEWAY_KEY=sk-of-the-gateway")
	out, err := cmd.Output()
	require.NoError(t, err)
	var s seen
	require.NoError(t, json.Unmarshal(out, &s))
	assert.Greater(t, s.Processes, 2)
	assert.True(t, s.Home || s.Root || s.Sys)
	assert.Contains(t, s.Env, "GATEWAY_KEY")
}

// The probe by which such a gateway decides whether it has a sandbox, within its own time.
func TestDockerGatewayProbes(t *testing.T) {
	g := newDockerGateway(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := g.exec(ctx, "", "version", "--format", "{{.Server.Version}}")
	assert.Equal(t, 0, o.code, o.stderr)
	assert.NotEmpty(t, strings.TrimSpace(o.stdout))
	o = g.exec(ctx, "", "info", "--format", "{{json .Runtimes}}")
	assert.Equal(t, 0, o.code, o.stderr)
	assert.NotContains(t, o.stdout, `"runsc"`)
	assert.Contains(t, o.stdout, `"toolcell"`)
	g.env = append(g.env, "TOOLCELL_BACKEND=/nonexistent/docker")
	o = g.exec(ctx, "", "version", "--format", "{{.Server.Version}}")
	assert.NotEqual(t, 0, o.code, "without a sandbox the gateway refuses every call")
	assert.Empty(t, o.stdout)
}

// Builtins: the workspace, the caller's words, and nothing else.
func TestDockerGatewayPrivileged(t *testing.T) {
	g := newDockerGateway(t)
	s := confined(t, g.exec(t.Context(), "words", g.privileged("/workspace/sub", []string{"A=1", "PATH=/opt/no/such", "HOME=/home/gateway", "TMPDIR=/var/no"},
		"python3", "-c", look, "--privileged", "a b")...))
	assert.Equal(t, "/workspace/sub", s.Dir)
	assert.Equal(t, "words", s.Stdin)
	assert.Equal(t, []string{"--privileged", "a b"}, s.Args, "what follows the image is the program's")
	assert.Equal(t, "1", s.Env["A"])
	assert.NotEqual(t, "/opt/no/such", s.Env["PATH"])
	assert.NotEqual(t, "/home/gateway", s.Env["HOME"])

	o := g.exec(t.Context(), "", g.privileged("/workspace", nil, "sh", "-c", "echo made > made; cp /bin/true /tmp/t; /tmp/t")...)
	assert.NotZero(t, o.code, "what is dropped on the scratch does not run")
	made, err := os.ReadFile(filepath.Join(g.root, "made"))
	require.NoError(t, err)
	assert.Equal(t, "made\n", string(made))
	assert.Equal(t, 3, g.exec(t.Context(), "", g.privileged("/workspace", nil, "sh", "-c", "exit 3")...).code)
	assert.Equal(t, 127, g.exec(t.Context(), "", g.privileged("/workspace", nil, "no-such-program")...).code)
	assert.Equal(t, 137, g.exec(t.Context(), "", g.privileged("/workspace", nil, "python3", "-c", "bytearray(1 << 30)")...).code)
}

// The second version, and what of it only an engine could give.
func TestDockerGatewayHardened(t *testing.T) {
	g := newDockerGateway(t)
	s := confined(t, g.exec(t.Context(), "", g.hardened("none", "", "python3", "-c", look)...))
	assert.Equal(t, 65532, s.UID)
	assert.Equal(t, "http://127.0.0.1:1", s.Env["HTTPS_PROXY"], "words, and no network")
	confined(t, g.exec(t.Context(), "", g.hardened("none", dockerargs.NativeRuntime, "python3", "-c", look)...))
	assert.Equal(t, 125, g.exec(t.Context(), "", g.hardened("egress-net", "", "true")...).code)
	assert.Equal(t, 125, g.exec(t.Context(), "", g.hardened("none", "runsc", "true")...).code)
}

// Python tools: the arguments on stdin, the script on the command line.
func TestDockerGatewayExecutor(t *testing.T) {
	g := newDockerGateway(t)
	write(t, filepath.Join(g.root, "data.txt"), "data")
	require.NoError(t, os.Chmod(filepath.Join(g.root, "data.txt"), 0o644))
	for name, args := range g.executor("python3", look) {
		s := confined(t, g.exec(t.Context(), `{"a": 1}`, args...))
		assert.Equal(t, `{"a": 1}`, s.Stdin, name)
	}
	script := "print(open('/data/data.txt').read()); open('/data/x', 'w')"
	for name, args := range g.executor("python3", script) {
		o := g.exec(t.Context(), "{}", args...)
		assert.Equal(t, 1, o.code, name)
		assert.Equal(t, "data\n", o.stdout, name)
		assert.Contains(t, o.stderr, "Read-only file system", name)
	}
	// A gateway that puts its own interpreter's path into an image's command line.
	for name, args := range g.executor("/opt/gateway/venv/bin/python3", "print(1)") {
		assert.Equal(t, 127, g.exec(t.Context(), "{}", args...).code, name)
	}
}

// run_code: the code on stdin, few flags, and no network when one is asked for by leaving the flag out.
func TestDockerGatewayRunCode(t *testing.T) {
	g := newDockerGateway(t)
	for _, network := range []bool{false, true} {
		stdin := strings.Replace(look, "sys.stdin.read()", "''", 1)
		confined(t, g.exec(t.Context(), stdin, runCode(network, "python:3.12-slim", "python3", "-")...))
	}
	o := g.exec(t.Context(), "echo from bash", runCode(false, "bash:5", "bash")...)
	assert.Equal(t, outcome{stdout: "from bash\n"}, o)
	assert.Equal(t, 125, g.exec(t.Context(), "", runCode(false, "ruby:3", "ruby")...).code, "an image that the operator did not map")
}

// A gateway that is stopped takes its calls along.
func TestDockerGatewayIsKilled(t *testing.T) {
	g := newDockerGateway(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan outcome, 1)
	script := "import os, time\nopen('/workspace/started', 'w')\nos.fork()\nwhile True:\n    open('/workspace/beat', 'a').write('.')\n    time.sleep(.01)"
	go func() { done <- g.exec(ctx, "", g.privileged("/workspace", nil, "python3", "-c", script)...) }()
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(g.root, "beat")); return err == nil }, time.Minute, 10*time.Millisecond)
	cancel() // SIGKILL
	<-done
	size := func() int64 {
		info, err := os.Stat(filepath.Join(g.root, "beat"))
		require.NoError(t, err)
		return info.Size()
	}
	assert.Eventually(t, func() bool {
		before := size()
		time.Sleep(300 * time.Millisecond)
		return size() == before
	}, time.Minute, time.Millisecond, "nothing writes any more")
}

// Every flag of `docker run` is taken as docker means it or refused with 125, and nothing ran. The list is docker's own.
func TestDockerGatewayOtherFlags(t *testing.T) {
	g := newDockerGateway(t)
	taken := map[string]bool{}
	for _, f := range (dockerargs.Parser{}).Flags() {
		taken["--"+f.Name] = true
		if f.Short != "" {
			taken["-"+f.Short] = true
		}
	}
	refused := 0
	for _, f := range strings.Fields(dockerRunFlags) {
		name, value, hasValue := strings.Cut(f, "=")
		if taken[name] {
			continue
		}
		refused++
		args := []string{"run", "--rm", name}
		if hasValue {
			args = append(args, value)
		}
		marker := filepath.Join(g.root, "ran")
		args = append(args, "-v", g.root+":/workspace:rw", "host", "touch", "/workspace/ran")
		o := g.exec(t.Context(), "", args...)
		assert.Equal(t, 125, o.code, "%q", args)
		assert.Empty(t, o.stdout, "%q", args)
		assert.Regexp(t, `\Atoolcell: `+name+`[: ].+\n\z`, o.stderr, "%q: one line that names it", args)
		assert.NoFileExists(t, marker)
	}
	assert.Greater(t, refused, 70)
	o := g.exec(t.Context(), "", "run", "--rm", "-v", g.root+":/workspace:rw", "host", "touch", "/workspace/ran")
	require.Equal(t, 0, o.code, o.stderr)
	assert.FileExists(t, filepath.Join(g.root, "ran"), "without the flag it runs")
}

// dockerRunFlags are the flags of docker run (docker 28, `docker run --help`), with a value for those that take one.
const dockerRunFlags = `
--add-host=a:192.0.2.1 --annotation=a=b -a=stdin --attach=stdin --blkio-weight=10 --blkio-weight-device=/dev/sda:10
--cap-add=SYS_ADMIN --cap-drop=ALL --cgroup-parent=/x --cgroupns=private --cidfile=/tmp/x --cpu-count=1 --cpu-percent=1
--cpu-period=1000 --cpu-quota=1000 --cpu-rt-period=1000 --cpu-rt-runtime=1000 -c=512 --cpu-shares=512 --cpus=1
--cpuset-cpus=0 --cpuset-mems=0 -d --detach --detach-keys=ctrl-x --device=/dev/kvm --device-cgroup-rule=a
--device-read-bps=/dev/sda:1mb --device-read-iops=/dev/sda:1 --device-write-bps=/dev/sda:1mb --device-write-iops=/dev/sda:1
--disable-content-trust --dns=192.0.2.1 --dns-option=ndots:1 --dns-search=x --domainname=x --entrypoint=sh -e=A=1 --env=A=1
--env-file=/tmp/x --expose=80 --gpus=all --group-add=docker --health-cmd=true --health-interval=1s --health-retries=1
--health-start-interval=1s --health-start-period=1s --health-timeout=1s -h=sandbox --hostname=sandbox --init -i --interactive
--io-maxbandwidth=1 --io-maxiops=1 --ip=192.0.2.2 --ip6=2001:db8::2 --ipc=private --isolation=default --kernel-memory=64m
-l=a=b --label=a=b --label-file=/tmp/x --link=x --link-local-ip=169.254.1.1 --log-driver=none --log-opt=a=b
--mac-address=02:00:00:00:00:01 -m=64m --memory=64m --memory-reservation=64m --memory-swap=64m --memory-swappiness=0
--mount=type=bind,src=/srv,dst=/srv --name=x --network=none --network-alias=x --no-healthcheck --oom-kill-disable
--oom-score-adj=-1000 --pid=host --pids-limit=10 --platform=linux/amd64 --privileged -p=80:80 --publish=80:80 -P --publish-all
--pull=never -q --quiet --read-only --restart=always --rm --runtime=toolcell --security-opt=no-new-privileges --shm-size=1m
--sig-proxy --stop-signal=SIGKILL --stop-timeout=1 --storage-opt=size=1G --sysctl=a=b --tmpfs=/tmp -t --tty --ulimit=nofile=9
--use-api-socket -u=1:1 --user=1:1 --userns=host --uts=host -v=/srv:/srv --volume=/srv:/srv --volume-driver=x --volumes-from=x
-w=/tmp --workdir=/tmp --net=host --net-alias=x`
