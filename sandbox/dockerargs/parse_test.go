package dockerargs_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/dockerargs"
)

// parser has an environment and a file of its own, so that no test depends on the process's.
func parser() dockerargs.Parser {
	return dockerargs.Parser{
		LookupEnv: func(name string) (string, bool) {
			v, ok := map[string]string{"FOO": "secret", "EMPTY": ""}[name]
			return v, ok
		},
		ReadFile: func(name string) ([]byte, error) {
			if name == "vars" {
				return []byte("# comment\n\n  A=from file\r\nFOO\nUNSET\nB=2\n"), nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
	}
}

func parse(t *testing.T, args ...string) dockerargs.Invocation {
	t.Helper()
	inv, err := parser().Parse(args)
	require.NoError(t, err)
	return inv
}

// The command lines that gateways send, word for word.
func TestParseGateways(t *testing.T) {
	privileged := "--rm -i --network none --read-only --user 65532:65532 --cap-drop ALL --security-opt no-new-privileges " +
		"--pids-limit 100 --tmpfs /tmp:rw,noexec,nosuid,size=32m -w /workspace --memory 256m --cpus 0.5 " +
		"--ulimit nofile=99:99 --ulimit fsize=67108864:67108864 -e A=1 python:3.12-slim python3 -c pass"
	inv := parse(t, strings.Fields(privileged)...)
	assert.Equal(t, sandbox.ContainerProfile{
		Image: "python:3.12-slim", Network: "none", User: "65532:65532", PIDs: 100, TmpfsMB: 32, Workdir: "/workspace",
		Limits: sandbox.Limits{MemoryMB: 256, CPUs: 0.5, OpenFiles: 99, FileSizeMB: 64}, Env: []string{"A=1"},
	}, inv.Profile)
	assert.Equal(t, []string{"python3", "-c", "pass"}, inv.Command)
	assert.True(t, inv.Stdin)
	assert.Empty(t, inv.Applied)

	weak := "--rm -i --memory 512m --cpus 1 --pids-limit 256 python:3.12-slim python3 -"
	inv = parse(t, strings.Fields(weak)...)
	assert.Equal(t, []string{"python3", "-"}, inv.Command)
	assert.Equal(t, []string{
		"--network none", "--read-only", "--user auto", "--cap-drop ALL", "--security-opt no-new-privileges",
	}, inv.Applied)
}

func TestParseForms(t *testing.T) {
	for _, tc := range []struct {
		args string
		want sandbox.ContainerProfile
	}{
		{"-m 64m", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 64}}},
		{"-m64M", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 64}}},
		{"-m=65536k", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 64}}},
		{"--memory=67108864", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 64}}},
		{"--memory 1GiB --memory-swap 1024mb", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 1024}}},
		{"--memory-swap 8m --memory 8388608b", sandbox.ContainerProfile{Limits: sandbox.Limits{MemoryMB: 8}}},
		{"-v /srv/a:/a:ro,noexec", sandbox.ContainerProfile{Mounts: []string{"/srv/a:/a:ro,noexec"}}},
		{"--mount type=bind,src=/srv/a,dst=/a,ro", sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: "/srv/a", Target: "/a", Exec: true}}}},
		{"--mount type=bind,src=/srv/a,dst=/a,readonly=false,noexec", sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: "/srv/a", Target: "/a", Writable: true}}}},
		{"-w/usr", sandbox.ContainerProfile{Workdir: "/usr"}},
		{"-i=false --rm=true", sandbox.ContainerProfile{}},
		{"--ulimit cpu=7 --ulimit core=0:0 --ulimit nofile=20", sandbox.ContainerProfile{Limits: sandbox.Limits{CPUSeconds: 7, OpenFiles: 20}}},
		{"--timeout 90 --cpu-time 2m --output-limit 64k", sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: 90 * time.Second, CPUSeconds: 120, OutputKB: 64}}},
		{"--security-opt no-new-privileges:true --security-opt=no-new-privileges=true", sandbox.ContainerProfile{}},
		{"--runtime toolcell", sandbox.ContainerProfile{}},
		{"--runtime runsc", sandbox.ContainerProfile{Runtime: "runsc"}},
		{"--require net.none", sandbox.ContainerProfile{Require: []sandbox.Guarantee{sandbox.NetNone}}},
		{"--interpreter /opt/py/bin/python3", sandbox.ContainerProfile{Interpreters: []string{"/opt/py/bin/python3"}}},
		{"--tmpfs /tmp", sandbox.ContainerProfile{}},
		{"--tmpfs /tmp:size=8m,mode=1777,nodev --shm-size 2m", sandbox.ContainerProfile{TmpfsMB: 8, ShmMB: 2}},
		{"--init --pull never --ipc private --cgroupns private --log-driver none --label a=b --hostname sandbox", sandbox.ContainerProfile{}},
		{"-e A=1 -e A=2 -e B=x=y", sandbox.ContainerProfile{Env: []string{"A=2", "B=x=y"}}},
		{"-e FOO -e EMPTY -e UNSET", sandbox.ContainerProfile{Env: []string{"FOO=secret", "EMPTY="}}},
		{"-e A=flag --env-file vars", sandbox.ContainerProfile{Env: []string{"A=flag", "FOO=secret", "B=2"}}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			inv := parse(t, append(strings.Fields(tc.args), "host", "true")...)
			tc.want.Image = "host"
			assert.Equal(t, tc.want, inv.Profile)
		})
	}
}

// What follows the image belongs to the program, and "--" ends the flags.
func TestParseOperands(t *testing.T) {
	assert.Equal(t, []string{"sh", "--privileged", "-v"}, parse(t, "host", "sh", "--privileged", "-v").Command)
	assert.Equal(t, []string{"true"}, parse(t, "--rm", "--", "host", "true").Command)
	assert.Equal(t, "c-1", parse(t, "--name", "c-1", "host", "true").Name)
	assert.Equal(t, []string{"a=b", "c"}, parse(t, "--label", "a=b", "-l", "c", "host", "true").Labels)
	assert.False(t, parse(t, "host", "true").Stdin)

	optional := parser()
	optional.ImageOptional = true
	inv, err := optional.Parse([]string{"--memory", "8m"})
	require.NoError(t, err)
	assert.Equal(t, 8, inv.Profile.Limits.MemoryMB)

	for _, args := range [][]string{{"--json", "--help"}, {"-h"}, {"--rm", "-h"}} {
		_, err = parser().Parse(args)
		assert.ErrorIs(t, err, dockerargs.ErrHelp, "%q", args)
	}
}

// Each line is refused by one line that begins with the flag, and its kind says why.
func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		args, op string
		is       error
		g        sandbox.Guarantee
	}{
		{"--privileged", "--privileged", sandbox.ErrRefused, sandbox.PrivNoCapabilities},
		{"--cap-add SYS_ADMIN", "--cap-add", sandbox.ErrRefused, sandbox.PrivNoCapabilities},
		{"--cap-drop NET_RAW", "--cap-drop", sandbox.ErrInvalid, ""},
		{"--device /dev/kvm", "--device", sandbox.ErrRefused, sandbox.FSNoHostFiles},
		{"--pid host", "--pid", sandbox.ErrRefused, sandbox.ProcIsolated},
		{"--pid=host", "--pid", sandbox.ErrRefused, sandbox.ProcIsolated},
		{"--userns host", "--userns", sandbox.ErrRefused, sandbox.ProcIsolated},
		{"--ipc host", "--ipc", sandbox.ErrRefused, sandbox.IPCIsolated},
		{"--cgroupns host", "--cgroupns", sandbox.ErrRefused, sandbox.ProcIsolated},
		{"--network host", "--network", sandbox.ErrRefused, sandbox.NetNone},
		{"--network=bridge", "--network", sandbox.ErrRefused, sandbox.NetNone},
		{"--network", "--network", sandbox.ErrInvalid, ""},
		{"-p 80:80", "-p", sandbox.ErrRefused, sandbox.NetNone},
		{"-it", "-t", sandbox.ErrInvalid, ""},
		{"-d", "-d", sandbox.ErrInvalid, ""},
		{"--entrypoint sh", "--entrypoint", sandbox.ErrInvalid, ""},
		{"--no-such-flag", "--no-such-flag", sandbox.ErrInvalid, ""},
		{"-Z", "-Z", sandbox.ErrInvalid, ""},
		{"--read-only=false", "--read-only", sandbox.ErrRefused, sandbox.FSReadonlyRoot},
		{"--read-only=perhaps", "--read-only", sandbox.ErrInvalid, ""},
		{"--security-opt seccomp=unconfined", "--security-opt", sandbox.ErrRefused, sandbox.KernelSeccomp},
		{"--security-opt no-new-privileges=false", "--security-opt", sandbox.ErrRefused, sandbox.PrivNoNewPrivileges},
		{"--security-opt apparmor=unconfined", "--security-opt", sandbox.ErrInvalid, ""},
		{"--user 0", "--user", sandbox.ErrRefused, sandbox.PrivNonroot},
		{"--user 0:0", "--user", sandbox.ErrRefused, sandbox.PrivNonroot},
		{"--user root", "--user", sandbox.ErrRefused, sandbox.PrivNonroot},
		{"--user 1000:0", "--user", sandbox.ErrRefused, sandbox.PrivNonroot},
		{"--user 1000", "user", sandbox.ErrInvalid, ""},
		{"--user alice", "user", sandbox.ErrInvalid, ""},
		{"--user -1:0", "--user", sandbox.ErrRefused, sandbox.PrivNonroot},
		{"--user -1:5", "user", sandbox.ErrInvalid, ""},
		{"--pids-limit -1", "--pids-limit", sandbox.ErrRefused, sandbox.LimitProcesses},
		{"--pids-limit 0", "--pids-limit", sandbox.ErrRefused, sandbox.LimitProcesses},
		{"--pids-limit -5", "--pids-limit", sandbox.ErrInvalid, ""},
		{"--pids-limit 99999999", "process limit", sandbox.ErrInvalid, ""},
		{"--memory 0", "--memory", sandbox.ErrRefused, sandbox.LimitMemory},
		{"--memory -1", "--memory", sandbox.ErrRefused, sandbox.LimitMemory},
		{"--memory 512x", "--memory", sandbox.ErrInvalid, ""},
		{"--memory 1000k", "--memory", sandbox.ErrInvalid, ""},
		{"--memory 9999999999g", "--memory", sandbox.ErrInvalid, ""},
		{"--memory 1m", "memory limit (MiB)", sandbox.ErrInvalid, ""},
		{"--memory 8m --memory-swap 16m", "--memory-swap", sandbox.ErrRefused, sandbox.LimitMemory},
		{"--memory 8m --memory-swap -1", "--memory-swap", sandbox.ErrRefused, sandbox.LimitMemory},
		{"--memory-swap 8m", "--memory-swap", sandbox.ErrInvalid, ""},
		{"--cpus 0", "--cpus", sandbox.ErrRefused, sandbox.LimitCPU},
		{"--cpus NaN", "--cpus", sandbox.ErrInvalid, ""},
		{"--cpus 1e9", "--cpus", sandbox.ErrInvalid, ""},
		{"--cpus 99999999", "CPU limit", sandbox.ErrInvalid, ""},
		{"--ulimit nofile=1:2", "--ulimit", sandbox.ErrInvalid, ""},
		{"--ulimit nofile=-1", "--ulimit nofile", sandbox.ErrInvalid, ""},
		{"--ulimit fsize=1", "--ulimit fsize", sandbox.ErrInvalid, ""},
		{"--ulimit fsize=1m", "--ulimit fsize", sandbox.ErrInvalid, ""},
		{"--ulimit core=-1", "--ulimit core", sandbox.ErrRefused, sandbox.LimitFiles},
		{"--ulimit nproc=9", "--ulimit nproc", sandbox.ErrInvalid, ""},
		{"--ulimit stack=9", "--ulimit stack", sandbox.ErrInvalid, ""},
		{"--tmpfs /run", "--tmpfs", sandbox.ErrInvalid, ""},
		{"--tmpfs /tmp:exec", "--tmpfs exec", sandbox.ErrRefused, sandbox.FSNoexecScratch},
		{"--tmpfs /tmp:suid", "--tmpfs suid", sandbox.ErrInvalid, ""},
		{"--tmpfs /tmp:size=0", "--tmpfs size", sandbox.ErrInvalid, ""},
		{"--tmpfs /tmp:mode=0777", "--tmpfs mode", sandbox.ErrInvalid, ""},
		{"--mount type=volume,source=a,target=/b", "--mount", sandbox.ErrInvalid, ""},
		{"--mount source=/a,target=/b", "--mount", sandbox.ErrInvalid, ""},
		{"--mount type=bind,source=/a,target=/b,consistency=x", "--mount", sandbox.ErrInvalid, ""},
		{"--mount type=bind,source=/a,target=/b,bind-propagation=shared", "--mount bind-propagation", sandbox.ErrRefused, sandbox.FSNoHostFiles},
		{"--mount type=bind,source=/a,target=/b,bind-recursive=writable", "--mount bind-recursive", sandbox.ErrInvalid, ""},
		{"--mount type=bind,\"source=/a", "--mount", sandbox.ErrInvalid, ""},
		{"-v data:/data", `mount "data"`, sandbox.ErrInvalid, ""},
		{"-v /srv/a", `mount "/srv/a"`, sandbox.ErrInvalid, ""},
		{"-w relative", "-w", sandbox.ErrInvalid, ""},
		{"-w --privileged", "-w", sandbox.ErrInvalid, ""},
		{"-w /proc/self/fd/7", "working directory", sandbox.ErrInvalid, ""},
		{"-e =x", "-e", sandbox.ErrInvalid, ""},
		{"--env-file missing", "--env-file", sandbox.ErrInvalid, ""},
		{"--name a/b", "id", sandbox.ErrInvalid, ""},
		{"--label =x", "--label", sandbox.ErrInvalid, ""},
		{"--hostname other", "--hostname", sandbox.ErrInvalid, ""},
		{"--pull always", "--pull", sandbox.ErrInvalid, ""},
		{"--log-driver syslog", "--log-driver", sandbox.ErrInvalid, ""},
		{"--timeout 0", "--timeout", sandbox.ErrInvalid, ""},
		{"--timeout -5s", "--timeout", sandbox.ErrInvalid, ""},
		{"--timeout soon", "--timeout", sandbox.ErrInvalid, ""},
		{"--cpu-time 1500ms", "--cpu-time", sandbox.ErrInvalid, ""},
		{"--output-limit 1", "--output-limit", sandbox.ErrInvalid, ""},
		{"--interpreter python3", "--interpreter", sandbox.ErrInvalid, ""},
		{"--require everything", "--require", sandbox.ErrInvalid, ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			_, err := parser().Parse(append(strings.Fields(tc.args), "host", "true"))
			if tc.args == "--network" {
				_, err = parser().Parse([]string{"--network"})
			}
			require.ErrorIs(t, err, tc.is)
			var e *sandbox.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tc.op, e.Op)
			assert.Equal(t, tc.g, e.Guarantee)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestParseNeedsImageAndCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"--rm"}, {""}, {"-"}, {"host"}, {"--", "-x", "true"}, {"a b", "true"}} {
		_, err := parser().Parse(args)
		assert.ErrorIs(t, err, sandbox.ErrInvalid, "%q", args)
	}
}

// --json counts as soon as it was read, so that an error after it can be printed as asked.
func TestParseKeepsJSONOnError(t *testing.T) {
	inv, err := parser().Parse([]string{"--json", "--privileged", "host", "true"})
	require.Error(t, err)
	assert.True(t, inv.JSON)
}

// A zero Parser reads nothing of the process.
func TestZeroParserReadsNothing(t *testing.T) {
	t.Setenv("DOCKERARGS_TEST", "leaked")
	inv, err := dockerargs.Parser{}.Parse([]string{"-e", "DOCKERARGS_TEST", "host", "true"})
	require.NoError(t, err)
	assert.Empty(t, inv.Profile.Env)
	_, err = dockerargs.Parser{}.Parse([]string{"--env-file", "/etc/hosts", "host", "true"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)

	inv, err = dockerargs.Parse([]string{"-e", "DOCKERARGS_TEST", "host", "true"})
	require.NoError(t, err)
	assert.Equal(t, []string{"DOCKERARGS_TEST=leaked"}, inv.Profile.Env)
}

func TestSwitches(t *testing.T) {
	var plan bool
	p := dockerargs.Parser{Switches: []dockerargs.Switch{{Name: "plan", Usage: "print the plan", Value: &plan}}}
	_, err := p.Parse([]string{"--plan", "host", "true"})
	require.NoError(t, err)
	assert.True(t, plan)
	_, err = p.Parse([]string{"--plan=false", "host", "true"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
	_, err = dockerargs.Parser{}.Parse([]string{"--plan", "host", "true"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)

	var dir string
	p = dockerargs.Parser{Switches: []dockerargs.Switch{{Name: "agents", Arg: "DIR", Usage: "look there", Text: &dir}}}
	inv, err := p.Parse([]string{"--memory", "64m", "--agents=/a", "-i", "host", "true"})
	require.NoError(t, err)
	assert.Equal(t, "/a", dir)
	assert.Equal(t, []string{"agents", "interactive", "memory"}, inv.Flags)
	_, err = p.Parse([]string{"--agents", "", "host", "true"})
	assert.ErrorIs(t, err, sandbox.ErrInvalid)
}

// Names and letters are one to one, and every flag says what it does.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range (dockerargs.Parser{}).Flags() {
		assert.NotEmpty(t, f.Usage, f.Name)
		assert.False(t, seen["--"+f.Name], f.Name)
		seen["--"+f.Name] = true
		if f.Short != "" {
			assert.False(t, seen["-"+f.Short], f.Short)
			seen["-"+f.Short] = true
		}
	}
	// Whatever a profile can ask of an engine is in the table.
	all := sandbox.ContainerProfile{User: "1:1", Runtime: "r", Mounts: []string{"/a:/b"}, Binds: []sandbox.Mount{{}}, Env: []string{"A=1"}}
	for _, word := range all.WithDefaults().RunArgs("IMG")[1:] {
		if strings.HasPrefix(word, "-") {
			assert.True(t, seen[word], word)
		}
	}
}

func TestErrorsAreTyped(t *testing.T) {
	_, err := parser().Parse([]string{"--env-file", "missing", "host", "true"})
	assert.True(t, errors.Is(err, fs.ErrNotExist), "the cause is kept: %v", err)
}
