package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
)

// env is an environment for tests.
type env map[string]string

func (e env) lookup(name string) (string, bool) {
	s, ok := e[name]
	return s, ok
}

var linux = config.Options{GOOS: "linux", LookupEnv: env{"HOME": "/home/op"}.lookup}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte(text), linux)
	require.NoError(t, err)
	return c
}

// refused parses a text that is to be refused and returns the first line of the error.
func refused(t *testing.T, text string) string {
	t.Helper()
	_, err := config.Parse("config.yaml", []byte(text), linux)
	require.Error(t, err, text)
	checkProblems(t, err)
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func TestDefaults(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "{}", "runtime:\nexecutor:\n", "runtime: {sandbox: }", "null", "server: {port: 1}"} {
		c := parse(t, text)
		assert.Equal(t, sandbox.ContainerProfile{}.WithDefaults(), c.Profile(), text)
		assert.Equal(t, config.ModeSandbox, c.Sandbox.Mode)
		assert.False(t, c.Sandbox.Unsandboxed())
		assert.Equal(t, config.ToolsContainer, c.Sandbox.PythonTools)
		assert.Equal(t, config.ExecutionSandbox, c.Executor.Backend)
		assert.Equal(t, config.Native, c.Backend())
		assert.Equal(t, sandbox.NetworkNone, c.Executor.Network)
		assert.Equal(t, sandbox.UserAuto, c.Executor.User)
		assert.Empty(t, c.Waivers())
		assert.Empty(t, c.Warnings)
		assert.Empty(t, c.WorkspaceDir())
		assert.Empty(t, c.Roots())
		for _, v := range c.Values() {
			assert.Equal(t, "default", v.Origin.String(), v.Key)
		}
	}
}

// What stands in the file and means the default is the default.
func TestZeroMeansTheDefault(t *testing.T) {
	c := parse(t, `
runtime:
  sandbox: {binary: "", runtime: "", image: "", images: {}, workspace: "", roots: [], cpus: 0, cpu_seconds: 0, timeout_seconds: 0,
    memory_mb: 0, pids: 0, open_files: 0, file_size_mb: 0, tmp_mb: 0, shm_mb: 0, output_kb: 0, require: [], waive: ~,
    run_code: {images: {python: "", node: ~}}, mode: "", python_tools: ""}
  tool_timeout: 0
executor: {backend: "", docker_image: "", docker_network: "", docker_user: "", docker_volumes: []}
`)
	want, got := parse(t, ""), c.Values()
	for i, v := range want.Values() {
		assert.JSONEq(t, string(v.JSON), string(got[i].JSON), v.Key)
	}
}

func TestDefaultsOfOtherSystems(t *testing.T) {
	for goos, want := range map[string][]string{
		"linux":   {config.Native, "host", "host", "host"},
		"darwin":  {config.Docker, "python:3.12-slim", "node:22-alpine", "python:3.12-slim"},
		"windows": {config.Docker, "python:3.12-slim", "node:22-alpine", "python:3.12-slim"},
	} {
		c, err := config.Parse("", nil, config.Options{GOOS: goos})
		require.NoError(t, err)
		assert.Equal(t, want, []string{c.Backend(), c.Sandbox.Image, c.Sandbox.RunCode.Node, c.Executor.Image}, goos)
	}
}

// The zero value of a Config isolates.
func TestZeroConfigIsolates(t *testing.T) {
	var c config.Config
	assert.False(t, c.Sandbox.Unsandboxed())
	assert.Equal(t, config.Docker, c.Backend(), "an unknown system has no native backend")
	assert.NotEqual(t, config.ToolsLimits, c.Sandbox.PythonTools)
	assert.Equal(t, sandbox.ContainerProfile{Image: "python:3.12-slim"}.WithDefaults(), c.ToolProfile(config.Docker))
}

func TestGatewaysOwnFile(t *testing.T) {
	data, err := os.ReadFile("testdata/soulacy.yaml")
	require.NoError(t, err)
	c, err := config.Parse("/etc/soulacy/config.yaml", data, linux)
	require.NoError(t, err)
	assert.Equal(t, config.Runtime{
		PythonBin: "python3", ToolTimeout: 2 * time.Minute,
		AllowedToolDirs: []string{"/srv/soulacy/agents", "/home/op/.soulacy/tools"}, AllowSystemAgents: []string{"system-admin"},
	}, c.Runtime)
	assert.Equal(t, map[string]string{"python:3.12-slim": "host", "node:22-alpine": "/srv/images/node22"}, c.Sandbox.Images)
	assert.Equal(t, "/home/op/soulacy/data/sandbox", c.WorkspaceDir())
	assert.Equal(t, []string{"/home/op/soulacy"}, c.Roots())
	assert.Equal(t, "python:3.12-slim", c.Sandbox.Image)
	assert.Equal(t, "/etc/soulacy/config.yaml:24", c.Origin("runtime.sandbox.image").String())
	p := c.ToolProfile(c.ToolBackend())
	assert.Equal(t, []string{"/srv/agent-data:/data:rw"}, p.Mounts)
	assert.Equal(t, 2*time.Minute, p.Limits.Wall)
	assert.Equal(t, sandbox.NetworkNone, p.Network)
	assert.NoError(t, p.Validate())
	b := c.BuiltinProfile(c.Backend())
	assert.Equal(t, config.WorkspaceTarget, b.Workdir)
	assert.Equal(t, []sandbox.Mount{{Source: "/home/op/soulacy/data/sandbox", Target: "/workspace", Writable: true, Exec: true}}, b.Binds)
	assert.NoError(t, b.Validate())
}

func TestEngineFile(t *testing.T) {
	data, err := os.ReadFile("testdata/engine.yaml")
	require.NoError(t, err)
	c, err := config.Parse("engine.yaml", data, linux)
	require.NoError(t, err)
	assert.Equal(t, []sandbox.Waiver{
		{Guarantee: sandbox.LimitCPU, Reason: "engine.yaml:26"}, {Guarantee: sandbox.PrivNonroot, Reason: "engine.yaml:26"},
	}, c.Waivers())
	p := c.ToolProfile(c.ToolBackend())
	require.NoError(t, p.Validate())
	assert.Equal(t, sandbox.ContainerProfile{
		Image: "registry.example/tools:7", Network: "tools", User: "1000:1000", Runtime: "runsc", Workdir: "/tmp",
		Limits: sandbox.Limits{MemoryMB: 1024, CPUs: 1.5, CPUSeconds: 10, Wall: 90 * time.Second, OpenFiles: 1024, FileSizeMB: 128, OutputKB: 4096},
		PIDs:   512, TmpfsMB: 256, ShmMB: 32, ScratchExec: true,
		Mounts:  []string{"/srv/agent-data:/data:rw", "/srv/models:/models:ro"},
		Require: []sandbox.Guarantee{sandbox.IPCNoHostSockets},
	}, p)
	b := c.BuiltinProfile(c.Backend())
	require.NoError(t, b.Validate())
	assert.Equal(t, sandbox.NetworkNone, b.Network, "the network is the Python tools'")
	assert.Equal(t, 20*time.Second, b.Limits.Wall)
	for language, image := range map[string]string{"python": "python:3.13", "node": "node:24", "bash": "bash:5.2", "rust": ""} {
		r := c.RunCodeProfile(c.Backend(), language)
		require.NoError(t, r.Validate())
		assert.Equal(t, image, r.Image)
		assert.Equal(t, 256, r.PIDs)
		assert.Empty(t, r.Mounts)
	}
	assert.Equal(t, []string{"/srv/soulacy/data", "/srv/shared"}, c.Roots())
}

// An image that nobody wrote down is that of the backend which runs the call; one that somebody wrote stays.
func TestImagesAreThoseOfTheBackend(t *testing.T) {
	for text, want := range map[string][3]string{
		"":                                     {"host", "host", "host"},
		"runtime: {sandbox: {binary: auto}}":   {"host", "host", "host"},
		"runtime: {sandbox: {binary: docker}}": {"host", "host", "host"},
		"runtime: {sandbox: {image: mine, run_code: {images: {node: mine}}}}\nexecutor: {docker_image: mine}": {"mine", "mine", "mine"},
	} {
		c := parse(t, text)
		on := func(backend string) [3]string {
			return [3]string{c.BuiltinProfile(backend).Image, c.RunCodeProfile(backend, "node").Image, c.ToolProfile(backend).Image}
		}
		assert.Equal(t, want, on(config.Native), text)
		if want[0] == "host" {
			want = [3]string{"python:3.12-slim", "node:22-alpine", "python:3.12-slim"}
		}
		assert.Equal(t, want, on(config.Podman), text)
	}
	byHand := config.Config{Executor: config.Executor{Image: "mine"}}
	assert.Equal(t, "mine", byHand.ToolProfile(config.Native).Image)
	assert.Empty(t, parse(t, "").BuiltinProfile("another").Image, "a backend that is not ours has its own")
}

// The host's interpreter goes into a native sandbox, and never into an image.
func TestPythonBin(t *testing.T) {
	c := parse(t, "runtime: {python_bin: /opt/venv/bin/python}")
	assert.Equal(t, []string{"/opt/venv/bin/python"}, c.ToolProfile(config.Native).Interpreters)
	assert.Empty(t, c.ToolProfile(config.Docker).Interpreters)
	assert.Empty(t, parse(t, "runtime: {python_bin: python3}").ToolProfile(config.Native).Interpreters)
}

func TestMode(t *testing.T) {
	for text, unsandboxed := range map[string]bool{
		"{}": false, "{enabled: true}": false, "{mode: docker}": false, "{mode: sandbox}": false, "{mode: ' SandBox '}": false,
		"{enabled: true, mode: docker}":      false,
		"{mode: unsandboxed}":                true,
		"{mode: ' UNSANDBOXED '}":            true,
		"{enabled: false}":                   true,
		"{enabled: false, mode: docker}":     true, // the gateway's old pair
		"{enabled: false, mode: ''}":         true,
		"{enabled: true, mode: unsandboxed}": true,
	} {
		c := parse(t, "runtime: {sandbox: "+text+"}")
		assert.Equal(t, unsandboxed, c.Sandbox.Unsandboxed(), text)
	}
	for _, text := range []string{"{enabled: no}", "{enabled: 'false'}", "{enabled: 0}", "{enabled: FALSE}", "{mode: off}", "{mode: host}", "{mode: false}", "{enabled: false, mode: sandbox}"} {
		refused(t, "runtime: {sandbox: "+text+"}")
	}
	assert.Equal(t, "config.yaml:1", parse(t, "runtime: {sandbox: {enabled: false}}").Origin("runtime.sandbox.mode").String())
}

func TestBinary(t *testing.T) {
	for text, want := range map[string]string{
		"native": "native", "toolcell": "native", "Docker": "docker", "' podman '": "podman", "nerdctl": "nerdctl", "auto": "auto",
		"/usr/local/bin/docker": "/usr/local/bin/docker", "/opt/../usr/bin/podman": "/usr/bin/podman",
	} {
		assert.Equal(t, want, parse(t, "runtime: {sandbox: {binary: "+text+"}}").Backend(), text)
	}
	for _, text := range []string{"dokcer", "host", "limits", "unsandboxed", "local", "docker2", "bin/docker", "./docker", "'docker --privileged'", "3", "[docker]", "true"} {
		line := refused(t, "runtime: {sandbox: {binary: "+text+"}}")
		assert.Contains(t, line, "accepted: native, docker, podman, nerdctl, toolcell, auto or an absolute path")
	}
	assert.True(t, config.IsEngine("/usr/bin/podman"))
	assert.True(t, config.IsEngine(config.Docker))
	for _, b := range []string{config.Native, config.Auto, "", "host", "dokcer"} {
		assert.False(t, config.IsEngine(b), b)
	}
}

// What the configuration accepts is what a profile accepts, at both ends of every range.
func TestRangesAreTheProfiles(t *testing.T) {
	for _, key := range []string{
		"cpus", "cpu_seconds", "timeout_seconds", "memory_mb", "pids", "open_files", "file_size_mb", "tmp_mb", "shm_mb", "output_kb",
	} {
		line := refused(t, "runtime: {sandbox: {"+key+": -1}}")
		assert.Contains(t, line, "must not be negative")
		assert.Contains(t, line, "waive: [limit.")
		_, accepted, ok := strings.Cut(line, ", or ")
		require.True(t, ok, line)
		bounds := strings.Fields(accepted) // "4 to 1073741824 MiB)"
		require.GreaterOrEqual(t, len(bounds), 3)
		for _, edge := range []string{bounds[0], bounds[2]} {
			p := parse(t, "runtime: {sandbox: {"+key+": "+edge+"}}").Profile()
			assert.NoError(t, p.Validate(), key)
		}
		refused(t, "runtime: {sandbox: {"+key+": "+bounds[2]+"0}}")
		for _, odd := range []string{"1_0", "0x10", "010", "0o17", "1e1", ".inf", ".nan", "'10'", "ten", "[10]", "true", "+8", "10m", "1:30"} {
			refused(t, "runtime: {sandbox: {"+key+": "+odd+"}}")
		}
	}
	assert.InDelta(t, 0.5, parse(t, "runtime: {sandbox: {cpus: .5}}").Sandbox.Limits.CPUs, 0)
}

func TestUser(t *testing.T) {
	for text, want := range map[string]string{"auto": "auto", "AUTO": "auto", "'1000:1000'": "1000:1000"} {
		assert.Equal(t, want, parse(t, "executor: {docker_user: "+text+"}").ToolProfile(config.Native).User)
	}
	c := parse(t, "runtime: {sandbox: {binary: docker}}\nexecutor: {docker_user: image}")
	assert.True(t, c.KeepsImageUser())
	assert.Equal(t, "auto", c.ToolProfile(config.Docker).User)
	for _, text := range []string{"1000", "root", "abc", "'-1:0'", "'0:0'", "'1000:0'", "'1000:1000 --privileged'", "'01:1'"} {
		refused(t, "runtime: {sandbox: {binary: docker}}\nexecutor: {docker_user: "+text+"}")
	}
}

// A key that the chosen backend cannot honour is an error, and auto leaves the question to the choice.
func TestKeysBackendsCannotHonour(t *testing.T) {
	for _, rest := range []string{", runtime: kata}}", "}}\nexecutor: {docker_network: bridge}", "}}\nexecutor: {docker_user: image}"} {
		for binary, ok := range map[string]bool{
			"native": false, "toolcell": false, "''": false, "docker": true, "podman": true, "nerdctl": true, "/usr/bin/docker": true, "auto": true,
		} {
			text := "runtime: {sandbox: {binary: " + binary + rest
			_, err := config.Parse("f", []byte(text), linux)
			assert.Equal(t, ok, err == nil, "%s: %v", text, err)
		}
	}
	assert.True(t, parse(t, "runtime: {sandbox: {binary: podman, armed: true}}").Sandbox.Armed, "an engine's stand ready where that was written down")
	assert.False(t, parse(t, "runtime: {sandbox: {binary: podman}}").Sandbox.Armed)
	assert.True(t, parse(t, "runtime: {sandbox: {binary: auto}}").Sandbox.Armed, "auto may find native")
	s := parse(t, "runtime: {sandbox: {preload: [json, importlib.resources], pin: true}}").Sandbox
	assert.Equal(t, []string{"json", "importlib.resources"}, s.Preload)
	assert.True(t, s.Pin)
	_, err := config.Parse("f", []byte("runtime: {sandbox: {preload: ['os; print(1)']}}"), linux)
	assert.ErrorContains(t, err, "no name of a module")
	c := parse(t, "runtime: {sandbox: {binary: native}}\nexecutor: {backend: podman, docker_network: tools}")
	assert.Equal(t, config.Podman, c.ToolBackend(), "the tools have a backend of their own, which can")
	assert.Equal(t, "tools", c.ToolProfile(config.Podman).Network)
	assert.Contains(t, refused(t, "runtime: {sandbox: {binary: docker}}\nexecutor: {backend: native, docker_network: tools}"), "executor.backend: config.yaml:2")
	assert.Contains(t, refused(t, "runtime: {sandbox: {binary: docker, runtime: runsc}}\nexecutor: {backend: native}"), "executor.backend: config.yaml:2")
}

func TestPythonTools(t *testing.T) {
	for text, want := range map[string]config.Execution{
		"runtime: {sandbox: {python_tools: limits}}":                                config.ExecutionLocal,
		"runtime: {sandbox: {python_tools: Container}}":                             config.ExecutionSandbox,
		"runtime: {sandbox: {python_tools: limits}}\nexecutor: {backend: docker}":   config.ExecutionSandbox,
		"runtime: {sandbox: {python_tools: limits}}\nexecutor: {backend: ' Pool '}": config.ExecutionPool,
		"executor: {backend: nerdctl}":                                              config.ExecutionNerdctl,
	} {
		assert.Equal(t, want, parse(t, text).Executor.Backend, text)
	}
	for _, backend := range []string{"local", "process", "pool"} {
		assert.Contains(t, refused(t, "executor: {backend: "+backend+"}"), "python_tools: container (default) is the least isolation")
	}
	for _, backend := range []string{"ssh", "modal", "cloud", "e2b", "firecracker", "host", "unsandboxed", "toolcell", "auto", "/usr/bin/docker"} {
		refused(t, "runtime: {sandbox: {python_tools: limits}}\nexecutor: {backend: "+backend+"}")
	}
}

// The environment cannot switch anything off, and whoever tries is told.
func TestEnvironmentCannotLoosen(t *testing.T) {
	e := env{}
	for _, prefix := range []string{"TOOLCELL_", "SOULACY_RUNTIME_SANDBOX_"} {
		for key, value := range map[string]string{"ENABLED": "false", "MODE": "unsandboxed", "WAIVE": "net.none", "PYTHON_TOOLS": "limits"} {
			e[prefix+key] = value
		}
	}
	e["SOULACY_EXECUTOR_BACKEND"] = "local"
	c, err := config.Parse("f", nil, config.Options{GOOS: "linux", LookupEnv: e.lookup})
	require.NoError(t, err)
	assert.False(t, c.Sandbox.Unsandboxed())
	assert.Equal(t, config.ToolsContainer, c.Sandbox.PythonTools)
	assert.Equal(t, config.ExecutionSandbox, c.Executor.Backend)
	assert.Empty(t, c.Waivers())
	assert.Len(t, c.Warnings, len(e), "one warning for each")
}

// An alias is read where it is used, and told where it is used.
func TestAliases(t *testing.T) {
	c := parse(t, "x: &x 7\ndirs: &dirs [/srv/a, ~/b]\nruntime:\n  allowed_tool_dirs: *dirs\n  sandbox: {pids: *x, roots: *dirs}\n")
	assert.Equal(t, 7, c.Sandbox.PIDs)
	assert.Equal(t, []string{"/srv/a", "/home/op/b"}, c.Sandbox.Roots)
	assert.Equal(t, c.Sandbox.Roots, c.Runtime.AllowedToolDirs)
}

// A small file that means an enormous one costs no more than a small one.
func TestAliasesDoNotExpand(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 40; i++ {
		before := string(rune('a' + (i-1)%26))
		b.WriteString("k" + before + strings.Repeat("_", i) + ": &n" + strings.Repeat("n", i))
		if i == 1 {
			b.WriteString(" [" + strings.TrimSuffix(strings.Repeat("*a0, ", 10), ", ") + "]\n")
			continue
		}
		b.WriteString(" [" + strings.TrimSuffix(strings.Repeat("*n"+strings.Repeat("n", i-1)+", ", 10), ", ") + "]\n")
	}
	last := "*n" + strings.Repeat("n", 39)
	parse(t, b.String())
	for _, key := range []string{"roots", "images", "waive", "run_code", "pids", "mode"} {
		refused(t, b.String()+"runtime: {sandbox: {"+key+": "+last+"}}")
	}
	refused(t, b.String()+"<<: {runtime: "+last+"}")
	parse(t, "loop: &loop {a: *loop, b: [*loop]}\n<<: *loop\n")
}

func TestHugeFiles(t *testing.T) {
	line := refused(t, strings.Repeat("# filler\n", 1<<17))
	assert.Contains(t, line, "larger than 1048576 bytes")
	parse(t, strings.Repeat("# filler\n", 1<<16))
	refused(t, strings.Repeat("[", 1<<19))
	refused(t, "runtime: {sandbox: {image: "+strings.Repeat("x", 1<<19)+"}}")
	parse(t, "x: ["+strings.Repeat("a,", 1<<18)+"]")
}

// What is shown can be read back and means the same.
func TestShow(t *testing.T) {
	for _, file := range []string{"testdata/soulacy.yaml", "testdata/engine.yaml", os.DevNull} {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		c, err := config.Parse(filepath.Base(file), data, linux)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, c.Show(&b))
		golden(t, "testdata/"+filepath.Base(file)+".shown", b.String())
		again, err := config.Parse("shown", []byte(b.String()), linux)
		require.NoError(t, err)
		values := again.Values()
		for i, v := range c.Values() {
			assert.Equal(t, v.Key, values[i].Key)
			assert.JSONEq(t, string(v.JSON), string(values[i].JSON), v.Key)
		}
	}
	c := parse(t, "runtime: {sandbox: {enabled: false}}")
	var b strings.Builder
	require.NoError(t, c.Show(&b))
	assert.True(t, parse(t, b.String()).Sandbox.Unsandboxed())
}

// What YAML would take for something else is escaped, in values and in the comments about the file.
func TestShowEscapes(t *testing.T) {
	text := `runtime: {sandbox: {workspace: "/a\Nb\L\P\xff\u2066é\ufffe # x\n- y"}}`
	c, err := config.Parse("/tmp/a\n\u2028b: \u0085.yaml", []byte(text), linux)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, c.Show(&b))
	again, err := config.Parse("shown", []byte(b.String()), linux)
	require.NoError(t, err, b.String())
	assert.Equal(t, c.Sandbox.Workspace, again.Sandbox.Workspace)
	assert.Equal(t, len(parseShown(t)), strings.Count(b.String(), "\n"))
}

// parseShown is the lines of an ordinary configuration.
func parseShown(t *testing.T) []string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, parse(t, "").Show(&b))
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}
