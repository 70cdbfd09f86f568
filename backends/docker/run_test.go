package docker

import (
	"errors"
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

	_, err = b.Ready(t.Context(), sandbox.ContainerProfile{Image: "host"})
	check("an image that is the native backend's", err, sandbox.ErrUnavailable)

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

// A runtime with a kernel of its own is looked for before the call, asked for, and compared; the report says what is its.
func TestKata(t *testing.T) {
	f := newFake()
	b := openFake(t, f)
	p := sandbox.ContainerProfile{Runtime: "kata"}
	_, err := b.Run(t.Context(), p, program("x"))
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	assert.ErrorContains(t, err, "runsc", "what there is is said")
	assert.NotContains(t, f.verbs(), "create")

	f.info = strings.Replace(dockerInfo, `"runsc":{}`, `"kata":{}`, 1)
	b = openFake(t, f)
	res, err := b.Run(t.Context(), p, program("x"))
	require.NoError(t, err)
	create := f.calls[slices.IndexFunc(f.calls, func(c []string) bool { return c[0] == "create" })]
	require.Contains(t, create, "--runtime")
	assert.Equal(t, "kata", create[slices.Index(create, "--runtime")+1])
	assert.Contains(t, res.Enforcement.Get(sandbox.KernelSeccomp).Mechanism, "kata")
	assert.NotEmpty(t, res.Enforcement.Get(sandbox.LimitProcesses).Reason)

	f.lie = func(m map[string]any) { m["HostConfig"].(map[string]any)["Runtime"] = "runc" }
	_, err = b.Run(t.Context(), p, program("x"))
	assert.ErrorIs(t, err, sandbox.ErrRefused)
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

// Init is told that its last word has been heard, and is sent nothing after that: what nobody reads when a container ends
// makes engines lose what it said.
func TestDoneIsLast(t *testing.T) {
	for name, last := range map[string]struct {
		t frame.Type
		m frame.Message
	}{
		"a result": {frame.Result, &frame.Ending{Exited: true}}, "a fault": {frame.Fault, &frame.Failure{Class: frame.ClassNotFound}},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan []frame.Type, 1)
			f := newFake()
			f.init = func(i Invocation) int {
				data, err := frame.Encode(last.t, last.m)
				if err != nil {
					return 2
				}
				var got []frame.Type
				for said := false; len(got) == 0 || got[len(got)-1] != frame.Done; said = true {
					typ, _, err := frame.Read(i.Stdin, nil)
					if err != nil {
						break
					}
					got = append(got, typ)
					if !said {
						_, _ = i.Stdout.Write(data)
					}
				}
				more := make(chan struct{})
				go func() {
					_, _, _ = frame.Read(i.Stdin, nil)
					close(more)
				}()
				select {
				case <-more:
					got = append(got, 0)
				case <-time.After(50 * time.Millisecond):
				}
				heard <- got
				return 0
			}
			c := program("x")
			c.Stdin = zeros{}
			_, err := openFake(t, f).Run(t.Context(), sandbox.ContainerProfile{}, c)
			require.Equal(t, last.t == frame.Fault, err != nil, "%v", err)
			got := <-heard
			assert.Equal(t, frame.Request, got[0])
			assert.Equal(t, frame.Done, got[len(got)-1])
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
