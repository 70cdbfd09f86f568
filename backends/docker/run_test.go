package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/sandbox"
)

func program(argv ...string) sandbox.Command { return sandbox.Command{Argv: argv} }

// A call is create, inspect, start, in this order.
func TestRunOrder(t *testing.T) {
	f := newFake()
	b := openFake(t, f)
	res, err := b.Run(t.Context(), sandbox.ContainerProfile{}, program("echo", "x"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusExited, res.Status)
	assert.Equal(t, "echo\n", string(res.Stdout))
	verbs := slices.DeleteFunc(f.verbs(), func(v string) bool { return v == "ps" || v == "system" }) // the sweep, and what stays open
	assert.Equal(t, []string{"info", "image", "create", "container", "start"}, verbs)
}

// What the engine made is not what was asked for: the container is removed and never started.
func TestRunRefusesDifferences(t *testing.T) {
	host := func(m map[string]any) map[string]any { return m["HostConfig"].(map[string]any) }
	config := func(m map[string]any) map[string]any { return m["Config"].(map[string]any) }
	for name, tc := range map[string]struct {
		lie  func(map[string]any)
		want sandbox.Guarantee
	}{
		"writable root":      {func(m map[string]any) { host(m)["ReadonlyRootfs"] = false }, sandbox.FSReadonlyRoot},
		"privileged":         {func(m map[string]any) { host(m)["Privileged"] = true }, sandbox.PrivNoCapabilities},
		"a capability":       {func(m map[string]any) { host(m)["CapAdd"] = []string{"NET_RAW"} }, sandbox.PrivNoCapabilities},
		"capabilities kept":  {func(m map[string]any) { host(m)["CapDrop"] = []string{} }, sandbox.PrivNoCapabilities},
		"network":            {func(m map[string]any) { host(m)["NetworkMode"] = "bridge" }, sandbox.NetNone},
		"user":               {func(m map[string]any) { config(m)["User"] = "" }, sandbox.PrivNonroot},
		"groups":             {func(m map[string]any) { host(m)["GroupAdd"] = []string{"docker"} }, sandbox.PrivNonroot},
		"new privileges":     {func(m map[string]any) { host(m)["SecurityOpt"] = []string{"seccomp=unconfined"} }, sandbox.PrivNoNewPrivileges},
		"filter off":         {func(m map[string]any) { host(m)["SecurityOpt"] = []string{"no-new-privileges"} }, sandbox.KernelSeccomp},
		"another filter":     {func(m map[string]any) { host(m)["SecurityOpt"] = []string{"no-new-privileges", "seccomp={}"} }, sandbox.KernelSeccomp},
		"memory":             {func(m map[string]any) { host(m)["Memory"] = 0 }, sandbox.LimitMemory},
		"swap":               {func(m map[string]any) { host(m)["MemorySwap"] = -1 }, sandbox.LimitMemory},
		"processes":          {func(m map[string]any) { host(m)["PidsLimit"] = 0 }, sandbox.LimitProcesses},
		"cores":              {func(m map[string]any) { host(m)["NanoCpus"] = 0 }, sandbox.LimitCPU},
		"open files":         {func(m map[string]any) { host(m)["Ulimits"] = []any{} }, sandbox.LimitFiles},
		"shared memory":      {func(m map[string]any) { host(m)["ShmSize"] = 1 << 40 }, sandbox.LimitFiles},
		"IPC":                {func(m map[string]any) { host(m)["IpcMode"] = "host" }, sandbox.IPCIsolated},
		"process ids":        {func(m map[string]any) { host(m)["PidMode"] = "host" }, sandbox.ProcIsolated},
		"cgroup namespace":   {func(m map[string]any) { host(m)["CgroupnsMode"] = "host" }, sandbox.ProcIsolated},
		"no masks":           {func(m map[string]any) { host(m)["MaskedPaths"] = []string{} }, sandbox.ProcIsolated},
		"writable /proc/sys": {func(m map[string]any) { host(m)["ReadonlyPaths"] = nil }, sandbox.ProcIsolated},
		"a device":           {func(m map[string]any) { host(m)["Devices"] = []any{map[string]any{"PathOnHost": "/dev/kvm"}} }, sandbox.FSNoHostFiles},
		"executable scratch": {func(m map[string]any) { host(m)["Tmpfs"].(map[string]any)["/tmp"] = "rw,exec,size=64m" }, sandbox.FSNoexecScratch},
		"another scratch":    {func(m map[string]any) { host(m)["Tmpfs"].(map[string]any)["/opt"] = "rw" }, sandbox.FSDeclaredWrites},
		"a missing scratch":  {func(m map[string]any) { delete(host(m)["Tmpfs"].(map[string]any), "/dev/shm") }, sandbox.FSDeclaredWrites},
		"a volume": {func(m map[string]any) {
			m["Mounts"] = append(m["Mounts"].([]any), map[string]any{"Type": "volume", "Destination": "/data", "RW": true})
		}, sandbox.FSNoHostFiles},
		"a missing mount":     {func(m map[string]any) { m["Mounts"] = []any{} }, sandbox.FSNoHostFiles},
		"a writable mount":    {func(m map[string]any) { m["Mounts"].([]any)[0].(map[string]any)["RW"] = true }, sandbox.FSDeclaredWrites},
		"shared propagation":  {func(m map[string]any) { m["Mounts"].([]any)[0].(map[string]any)["Propagation"] = "rshared" }, sandbox.FSNoHostFiles},
		"health check":        {func(m map[string]any) { config(m)["Healthcheck"] = map[string]any{"Test": []string{"CMD", "true"}} }, sandbox.LifeNoSurvivors},
		"not removed":         {func(m map[string]any) { host(m)["AutoRemove"] = false }, sandbox.LifeNoSurvivors},
		"labels":              {func(m map[string]any) { config(m)["Labels"] = map[string]any{} }, sandbox.LifeNoSurvivors},
		"a log":               {func(m map[string]any) { host(m)["LogConfig"] = map[string]any{"Type": "syslog"} }, sandbox.LimitOutput},
		"running already":     {func(m map[string]any) { m["State"] = map[string]any{"Status": "running"} }, ""},
		"another entry point": {func(m map[string]any) { config(m)["Entrypoint"] = []string{"/bin/sh"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.lie = tc.lie
			b := openFake(t, f)
			_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, program("true"))
			require.ErrorIs(t, err, sandbox.ErrRefused)
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, tc.want, typed.Guarantee)
			assert.NotContains(t, f.verbs(), "start")
			assert.Contains(t, f.verbs(), "rm")
		})
	}
}

// The engine's own trouble is never the program's exit status, and each kind has a fix of its own.
func TestReadyErrors(t *testing.T) {
	fixes := map[string]string{}
	check := func(name string, err error, kinds ...error) {
		t.Run(name, func(t *testing.T) {
			var typed *sandbox.Error
			require.ErrorAs(t, err, &typed)
			assert.True(t, slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }), "%v", err)
			assert.NotEmpty(t, typed.Fix)
			for other, fix := range fixes {
				assert.NotEqual(t, fix, typed.Fix, "the fix of %s", other)
			}
			fixes[name] = typed.Fix
		})
	}
	_, err := Open(t.Context(), Config{Binary: "no-such-engine", Helper: helperProgram(t), StateDir: t.TempDir()})
	check("missing binary", err, sandbox.ErrUnavailable)

	f := newFake()
	b := openFake(t, f)
	f.set(map[string]string{"info": "Cannot connect to the daemon"})
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	check("unreachable daemon", err, sandbox.ErrUnavailable)

	f.set(map[string]string{"image": "No such image"})
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	check("missing image", err, sandbox.ErrUnavailable)

	f.set(nil)
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{Runtime: "kata"})
	check("unknown runtime", err, sandbox.ErrUnavailable)

	f.set(map[string]string{"create": "unknown flag: --pull"})
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	check("an engine too old for a flag", err, sandbox.ErrUnavailable)

	f.set(nil)
	f.info = `{"host":{"cgroupControllers":[],"ociRuntime":{"name":"crun"},"security":{"rootless":true,"seccompEnabled":true}},"version":{}}`
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	check("a rootless engine without controllers", err, sandbox.ErrRefused)
}

// A yes is believed for a while, a no is asked for again.
func TestReadyIsCached(t *testing.T) {
	f := newFake()
	f.init = func(i Invocation) int {
		_, _ = i.Stdout.Write(notFound(t))
		return 0
	}
	b := openFake(t, f)
	f.set(map[string]string{"image": "No such image"})
	_, err := b.Ready(t.Context(), sandbox.ContainerProfile{})
	require.Error(t, err)
	f.set(nil)
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	require.NoError(t, err)
	before := len(f.verbs())
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	require.NoError(t, err)
	assert.Len(t, f.verbs(), before, "the engine was asked again")
	f.init = func(Invocation) int { return 1 }
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("true"))
	require.Error(t, err)
	before = len(f.verbs())
	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{})
	require.Error(t, err)
	assert.Greater(t, len(f.verbs()), before, "a failed call makes it ask again")
}

func notFound(t *testing.T) []byte {
	data, err := frame.Encode(frame.Fault, &frame.Failure{Step: `start "x"`, Class: frame.ClassNotFound, Errno: 2, Text: "no such file"})
	require.NoError(t, err)
	return data
}

// How a program ended is what init saw, whatever the engine's own exit status is.
func TestStatuses(t *testing.T) {
	signal := func(n uint32) *frame.Ending { return &frame.Ending{Exited: true, Status: n} }
	for name, tc := range map[string]struct {
		end    *frame.Ending
		status sandbox.Status
		code   int
		signal string
	}{
		"125":        {&frame.Ending{Exited: true, Status: 125 << 8}, sandbox.StatusExited, 125, ""},
		"126":        {&frame.Ending{Exited: true, Status: 126 << 8}, sandbox.StatusExited, 126, ""},
		"127":        {&frame.Ending{Exited: true, Status: 127 << 8}, sandbox.StatusExited, 127, ""},
		"137":        {&frame.Ending{Exited: true, Status: 137 << 8}, sandbox.StatusExited, 137, ""},
		"SIGKILL":    {signal(9), sandbox.StatusSignaled, -1, "SIGKILL"},
		"dumped":     {signal(11 | 0x80), sandbox.StatusSignaled, -1, "SIGSEGV"},
		"real time":  {signal(40), sandbox.StatusSignaled, -1, "SIGRT40"},
		"file size":  {signal(25), sandbox.StatusFileSize, -1, "SIGXFSZ"},
		"CPU rlimit": {signal(24), sandbox.StatusCPUTimeout, -1, ""},
		"deadline":   {&frame.Ending{Cause: frame.CauseTimeout, Exited: true, Status: 9}, sandbox.StatusTimeout, -1, ""},
		"CPU":        {&frame.Ending{Cause: frame.CauseCPU, Exited: true, Status: 9}, sandbox.StatusCPUTimeout, -1, ""},
		"memory":     {&frame.Ending{Cause: frame.CauseOOM, Exited: true, Status: 9}, sandbox.StatusOOM, -1, ""},
		"no report":  {nil, sandbox.StatusSignaled, -1, "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.init = speaks(func(*frame.Call, func(frame.Type, []byte)) *frame.Ending { return tc.end })
			res, err := openFake(t, f).Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
			require.NoError(t, err)
			assert.Equal(t, tc.status, res.Status)
			assert.Equal(t, tc.code, res.ExitCode)
			assert.Equal(t, tc.signal, res.Signal)
		})
	}
}

// What reaches init is the call, and nothing of the caller.
func TestRequest(t *testing.T) {
	t.Setenv("CALLERS_SECRET", "x")
	var got frame.Call
	f := newFake()
	f.init = speaks(func(c *frame.Call, _ func(frame.Type, []byte)) *frame.Ending {
		got = *c
		return &frame.Ending{Exited: true}
	})
	b := openFake(t, f)
	p := sandbox.ContainerProfile{Env: []string{"A=profile", "B=profile"}, PIDs: 7, Limits: sandbox.Limits{OpenFiles: 20, CPUSeconds: 3}}
	_, err := b.Run(t.Context(), p, sandbox.Command{Argv: []string{"p", "\xff"}, Env: []string{"B=call\n\xff", "DOCKER_HOST=x"}, Dir: "/d", Timeout: time.Second})
	require.NoError(t, err)
	var env []string
	for _, e := range got.Env {
		env = append(env, string(e))
	}
	for _, want := range []string{"A=profile", "B=call\n\xff", "IMG=1", "PATH=/image/bin", "HOME=/tmp/home", "DOCKER_HOST=x"} {
		assert.Contains(t, env, want)
	}
	assert.NotContains(t, strings.Join(env, "\n"), "CALLERS_SECRET")
	assert.Equal(t, "\xff", string(got.Argv[1]))
	assert.Equal(t, "/d", string(got.Dir))
	assert.Equal(t, time.Second, got.Timeout)
	assert.EqualValues(t, 20, got.OpenFiles)
}

// An engine that does not answer is given up after a bound, and a call's context is not what ends the making of a
// container.
func TestHangingEngine(t *testing.T) {
	f := newFake()
	f.hang = map[string]bool{"info": true}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Config{Client: f, Helper: helperProgram(t), StateDir: t.TempDir()})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// A call that is canceled asks init to end, and when that does not help removes the container by name.
func TestCancel(t *testing.T) {
	f := newFake()
	running := make(chan struct{})
	f.init = speaks(func(_ *frame.Call, say func(frame.Type, []byte)) *frame.Ending {
		say(frame.Stdout, []byte("so far"))
		close(running)
		select {}
	})
	stuck := f.init
	f.init = func(i Invocation) int {
		go stuck(i)
		<-running
		for !slices.Contains(f.verbs(), "rm") {
			time.Sleep(time.Millisecond)
		}
		return 137
	}
	b := openFake(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-running
		cancel()
	}()
	res, err := b.Run(ctx, sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, res.Status)
	assert.Equal(t, "so far", string(res.Stdout))
}

// What the engine has is another image than a moment ago: it is looked at again, once.
func TestImageReplaced(t *testing.T) {
	f := newFake()
	b := openFake(t, f)
	_, err := b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	f.image = `[{"Id":"sha256:2","Config":{}}]`
	f.lie = func(m map[string]any) { m["Image"] = "sha256:2" }
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	f.lie = func(m map[string]any) { m["Image"] = "sha256:3" }
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.Error(t, err, "it is not replaced for ever")
}

// A session is not opened on an image that was looked at before it was replaced; the next attempt looks again.
func TestSessionImageReplaced(t *testing.T) {
	f := newFake()
	f.init = waits
	b := openFake(t, f)
	s, err := b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	f.image = `[{"Id":"sha256:2","Config":{}}]`
	f.lie = func(m map[string]any) { m["Image"] = "sha256:2" }
	_, err = b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.ErrorIs(t, err, errImageChanged)
	s, err = b.OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// A call whose program was killed and does not end takes its session along: nobody can say what it still does.
func TestSessionProgramStays(t *testing.T) {
	f := newFake()
	f.init = waits
	f.exec = speaks(func(*frame.Call, func(frame.Type, []byte)) *frame.Ending {
		return &frame.Ending{Cause: frame.CauseTimeout}
	})
	s, err := openFake(t, f).OpenSession(t.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
	require.NoError(t, err)
	res, err := s.Run(t.Context(), program("x"))
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusTimeout, res.Status)
	require.Error(t, s.Err())
	_, err = s.Run(t.Context(), program("x"))
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// Nothing of a backend is left when it is closed.
func TestCloseLeavesNothing(t *testing.T) {
	state := t.TempDir()
	b, err := Open(t.Context(), Config{Client: newFake(), Image: "image", Helper: helperProgram(t), StateDir: state})
	require.NoError(t, err)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	require.NoError(t, err)
	entries, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	left, err := filepath.Glob(state + "/*")
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = b.Run(t.Context(), sandbox.ContainerProfile{}, program("x"))
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}
