package backends_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/doctor"
	"github.com/soulacy/toolcell/sandbox/policy"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/sandbox/tools/netguard"
	"github.com/soulacy/toolcell/test/fake"
)

var errDown = &sandbox.Error{Kind: sandbox.KindUnavailable, Op: "open", Cause: errors.New("it is down"), Fix: "start it"}

// machine is a computer with scripted backends.
type machine struct {
	down       map[string]error // why a backend cannot be opened
	notReady   map[string]error // why one that is there refuses
	unprepared error            // why nothing can be prepared

	mu     sync.Mutex
	opened []string
	have   map[string]*fake.Backend
	config map[string]backends.Config
}

func (m *machine) open(_ context.Context, name string, c backends.Config) (sandbox.Backend, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = append(m.opened, name)
	if err := m.down[name]; err != nil {
		return nil, err
	}
	if m.have == nil {
		m.have, m.config = map[string]*fake.Backend{}, map[string]backends.Config{}
	}
	key := name
	if c.Docker.User != "" {
		key += " as " + c.Docker.User
	}
	m.config[key] = c
	m.have[key] = &fake.Backend{BackendName: name, ReadyErr: m.notReady[name], PrepareErr: m.unprepared, Handler: func(fake.Call) fake.Reply { return fake.Exit(0, "done\n", "") }}
	return m.have[key], nil
}

// parse reads a configuration for Linux.
func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse("config.yaml", []byte(text), config.Options{GOOS: "linux"})
	require.NoError(t, err, text)
	return c
}

func agent(t *testing.T, text string) config.Agent {
	t.Helper()
	a, err := config.ParseAgent("scout/SOUL.yaml", []byte("id: scout\n"+text))
	require.NoError(t, err)
	return a
}

// start opens a runner on the machine, and closes it at the end of the test.
func (m *machine) start(t *testing.T, text string, o backends.Options) *backends.Runner {
	t.Helper()
	o.Open = m.open
	r, err := backends.Open(t.Context(), parse(t, text), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

// place asks where a tool's call runs.
func place(t *testing.T, r *backends.Runner, a config.Agent, q tools.Request) (tools.Place, error) {
	t.Helper()
	return r.Tools(a).Chooser.Choose(t.Context(), q)
}

// The named backend is the choice, also where another one would do.
func TestNamedBackend(t *testing.T) {
	m := &machine{down: map[string]error{"docker": errDown}}
	r := m.start(t, "runtime: {sandbox: {binary: docker}}", backends.Options{})
	assert.Equal(t, []string{"docker"}, m.opened, "no other is tried")
	_, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "python"})
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	assert.ErrorContains(t, err, "it is down")

	m = &machine{}
	r = m.start(t, "runtime: {sandbox: {binary: podman}}", backends.Options{})
	for language, image := range map[string]string{"python": "python:3.12-slim", "node": "node:22-alpine", "bash": "bash:5"} {
		p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: language})
		require.NoError(t, err)
		assert.Equal(t, "podman", p.Backend.Name())
		assert.Equal(t, image, p.Profile.Image)
		assert.False(t, p.OnHost)
		assert.Zero(t, p.MaxTimeout, "nobody wrote one")
	}
}

// auto is the first that is ready; without one everything that has to be isolated is refused.
func TestAuto(t *testing.T) {
	m := &machine{down: map[string]error{"native": errDown}, notReady: map[string]error{"docker": errDown}}
	r := m.start(t, "runtime: {sandbox: {binary: auto}}", backends.Options{})
	assert.Equal(t, "podman", r.Policy().Selection().Backend)
	p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "node"})
	require.NoError(t, err)
	assert.Equal(t, "podman", p.Backend.Name())
	assert.Equal(t, "node:22-alpine", p.Profile.Image, "the image of the backend that was chosen")
	_, err = m.have["docker"].Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"x"}})
	assert.ErrorContains(t, err, "closed", "what was not chosen")

	down := map[string]error{}
	for _, name := range config.Backends() {
		down[name] = errDown
	}
	m = &machine{down: down}
	r = m.start(t, "runtime: {sandbox: {binary: auto, workspace: "+t.TempDir()+"}}", backends.Options{})
	for _, tool := range append(names(), tools.NamePythonFile, tools.NameInline, tools.NamePlugin) {
		_, err := place(t, r, config.Agent{}, tools.Request{Tool: tool})
		require.ErrorIs(t, err, sandbox.ErrUnavailable, "%s", tool)
		assert.ErrorContains(t, err, "no sandbox available (looked for native, docker, podman, nerdctl)", "%s", tool)
	}
}

func names() []tools.Name {
	var out []tools.Name
	for _, d := range tools.Definitions() {
		out = append(out, d.Name)
	}
	return out
}

// Every tool has a path of the policy, and every path but those of an agent's own tools has a tool.
func TestToolsAndPathsAreTheSame(t *testing.T) {
	r := (&machine{}).start(t, "runtime: {sandbox: {workspace: "+t.TempDir()+"}}", backends.Options{})
	covered := map[policy.Path]bool{}
	for _, name := range names() {
		require.True(t, policy.Path(name).Valid(), "%s", name)
		covered[policy.Path(name)] = true
		_, err := place(t, r, config.Agent{}, tools.Request{Tool: name})
		assert.NoError(t, err, "%s", name)
	}
	for _, path := range policy.Paths() {
		assert.NotEqual(t, path.PythonTool(), covered[path], "%s", path)
	}
	_, err := place(t, r, config.Agent{}, tools.Request{Tool: "browser"})
	assert.ErrorIs(t, err, sandbox.ErrRefused)
}

// The workspace is made, private, and is the one mount of the builtins.
func TestWorkspace(t *testing.T) {
	base := t.TempDir()
	text := "runtime: {sandbox: {workspace: " + base + ", timeout_seconds: 20, pids: 300}}"
	dir := filepath.Join(base, "data", "sandbox")
	(&machine{}).start(t, text, backends.Options{Inspect: true})
	assert.NoDirExists(t, dir, "who only looks makes nothing")
	r := (&machine{}).start(t, text, backends.Options{})
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())

	builtins := r.Tools(config.Agent{ID: "scout"})
	assert.Equal(t, "scout", builtins.Agent)
	assert.Equal(t, dir, builtins.Workspace)
	assert.Equal(t, []string{base}, builtins.Roots)
	p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameShellExec})
	require.NoError(t, err)
	assert.Equal(t, []sandbox.Mount{{Source: dir, Target: "/workspace", Writable: true, Exec: true}}, p.Profile.Binds)
	assert.Equal(t, 20*time.Second, p.MaxTimeout)
	assert.Equal(t, 300, p.Profile.PIDs)
	code, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode})
	require.NoError(t, err)
	assert.Equal(t, 256, code.Profile.PIDs)
	assert.Empty(t, code.Profile.Binds)

	out, err := builtins.ShellExec(t.Context(), tools.ShellArgs{Command: "true"})
	require.NoError(t, err)
	assert.Equal(t, "done\n", out.Text())
}

// A workspace that cannot be made refuses the builtins, and nothing else.
func TestWorkspaceThatCannotBe(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(base, "data"), nil, 0o600))
	r := (&machine{}).start(t, "runtime: {sandbox: {workspace: "+base+"}}", backends.Options{})
	for _, name := range names() {
		_, err := place(t, r, config.Agent{}, tools.Request{Tool: name})
		if name == tools.NameRunCode {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, sandbox.ErrUnavailable, "%s", name)
		assert.ErrorContains(t, err, "data", "%s", name)
	}
}

// An agent gets the backend that it insists on, when it is one of the start's.
func TestAgentsOwnBackend(t *testing.T) {
	podman, nerdctl := agent(t, "execution: {backend: podman}"), agent(t, "execution: {backend: nerdctl}")
	m := &machine{down: map[string]error{"nerdctl": errDown}}
	r := m.start(t, "", backends.Options{Agents: []config.Agent{podman, nerdctl}})
	p, err := place(t, r, podman, tools.Request{Tool: tools.NameInline})
	require.NoError(t, err)
	assert.Equal(t, "podman", p.Backend.Name())
	assert.Equal(t, "python:3.12-slim", p.Profile.Image, "host is native's")
	p, err = place(t, r, config.Agent{}, tools.Request{Tool: tools.NameInline})
	require.NoError(t, err)
	assert.Equal(t, "native", p.Backend.Name())
	_, err = place(t, r, nerdctl, tools.Request{Tool: tools.NameInline})
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)

	r = (&machine{}).start(t, "", backends.Options{})
	_, err = place(t, r, podman, tools.Request{Tool: tools.NameInline})
	assert.ErrorIs(t, err, sandbox.ErrRefused, "an agent that came later")
}

// What the executor says holds for Python tools alone.
func TestPythonToolsOnAnEngine(t *testing.T) {
	m := &machine{}
	r := m.start(t, "runtime: {tool_timeout: 2m, sandbox: {binary: docker}}\n"+
		"executor: {docker_network: tools, docker_user: image, docker_image: mine, docker_volumes: ['/srv/data:/data:ro']}", backends.Options{})
	p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NamePlugin})
	require.NoError(t, err)
	assert.Same(t, m.have["docker as image"], p.Backend)
	assert.Equal(t, "tools", p.Profile.Network)
	assert.Equal(t, "mine", p.Profile.Image)
	assert.Equal(t, []string{"/srv/data:/data:ro"}, p.Profile.Mounts)
	assert.Equal(t, 2*time.Minute, p.Profile.Limits.Wall)
	assert.Zero(t, p.MaxTimeout, "a tool may ask for more than tool_timeout, which is for those that ask for nothing")
	assert.Equal(t, []string{"tools"}, m.config["docker"].Docker.Networks)

	p, err = place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "python"})
	require.NoError(t, err)
	assert.Same(t, m.have["docker"], p.Backend)
	assert.Equal(t, sandbox.NetworkNone, p.Profile.Network)
	p, err = place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "python", Network: true})
	require.NoError(t, err)
	assert.Equal(t, "tools", p.Profile.Network)
}

// The same mounts on the native backend.
func TestVolumesAreMountsOnNative(t *testing.T) {
	r := (&machine{}).start(t, "runtime: {python_bin: /opt/venv/bin/python}\nexecutor: {docker_user: '1000:1000', docker_volumes: ['/srv/data:/data:ro']}", backends.Options{})
	p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NamePythonFile})
	require.NoError(t, err)
	assert.Equal(t, []string{"/srv/data:/data:ro"}, p.Profile.Mounts)
	assert.Equal(t, "1000:1000", p.Profile.User)
	assert.Equal(t, []string{"/opt/venv/bin/python"}, p.Profile.Interpreters)
}

// What the operator and the agent say of Python tools reaches them.
func TestPythonRules(t *testing.T) {
	r := (&machine{}).start(t, "runtime: {python_bin: python3.11, allowed_tool_dirs: [/srv/agents], sandbox: {python_tools: limits}}", backends.Options{})
	scout := agent(t, "env: [TOKEN, LANG]")
	rules := r.Tools(scout).Python
	assert.Equal(t, []string{"/srv/agents"}, rules.AllowedDirs)
	assert.Equal(t, []string{"TOKEN", "LANG"}, rules.Env)
	p, err := place(t, r, scout, tools.Request{Tool: tools.NameInline})
	require.NoError(t, err)
	assert.Equal(t, "python3.11", p.Python)
	p, err = place(t, r, scout, tools.Request{Tool: tools.NameInline, Isolation: "sandbox"})
	require.NoError(t, err)
	assert.Empty(t, p.Python, "the interpreter of a sandbox is the image's")
}

// What calls will need is fetched when that is wanted, on every backend that calls will use, and what cannot be is told.
func TestPrepare(t *testing.T) {
	podman := agent(t, "execution: {backend: podman}")
	m := &machine{down: map[string]error{"native": errDown}}
	r := m.start(t, "runtime: {sandbox: {binary: auto, workspace: "+t.TempDir()+"}}", backends.Options{Agents: []config.Agent{podman}, Prepare: true})
	images := func(name string) []string {
		var out []string
		for _, p := range m.have[name].Prepared() {
			if !slices.Contains(out, p.Image) {
				out = append(out, p.Image)
			}
		}
		return out
	}
	assert.ElementsMatch(t, []string{"python:3.12-slim", "node:22-alpine", "bash:5"}, images("docker"))
	assert.Contains(t, images("podman"), "python:3.12-slim")
	before := len(m.have["docker"].Prepared())
	require.NoError(t, r.Prepare(t.Context()))
	assert.Greater(t, len(m.have["docker"].Prepared()), before)

	m = &machine{}
	m.start(t, "runtime: {sandbox: {binary: docker}}", backends.Options{})
	assert.Empty(t, m.have["docker"].Prepared(), "nobody wanted it")

	m = &machine{unprepared: errDown}
	r = m.start(t, "runtime: {sandbox: {binary: docker}}", backends.Options{Prepare: true})
	last := r.Messages()[len(r.Messages())-1]
	assert.Equal(t, slog.LevelError, last.Level)
	assert.Contains(t, last.Attrs[0].Value.String(), "it is down")
}

// Who gives no way to download has download_file refused, and is told.
func TestDownload(t *testing.T) {
	line := func(o backends.Options) doctor.Check {
		r := (&machine{}).start(t, "runtime: {sandbox: {workspace: "+t.TempDir()+"}}", o)
		assert.Equal(t, o.Download, r.Tools(config.Agent{}).Download.Fetcher)
		for _, c := range r.Checks(t.Context()) {
			if c.Name == "download_file" {
				return c
			}
		}
		return doctor.Check{}
	}
	c := line(backends.Options{})
	assert.Equal(t, doctor.Fail, c.Status)
	assert.Contains(t, c.Detail, "downloads nothing")
	assert.Equal(t, doctor.OK, line(backends.Options{Download: netguard.Guard{}}).Status)
	assert.Equal(t, doctor.OK, line(backends.Options{Inspect: true}).Status)
}

// An engine that was down at the start is asked again, and never replaced.
func TestDownAtTheStart(t *testing.T) {
	m := &machine{down: map[string]error{"docker": errDown}}
	r := m.start(t, "runtime: {sandbox: {binary: docker}}", backends.Options{})
	q := tools.Request{Tool: tools.NameRunCode, Language: "python"}
	_, err := place(t, r, config.Agent{}, q)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
	m.mu.Lock()
	m.down = nil
	m.mu.Unlock()
	assert.Eventually(t, func() bool {
		p, err := place(t, r, config.Agent{}, q)
		return err == nil && p.Backend.Name() == "docker"
	}, time.Minute, 100*time.Millisecond)
}

// A program that makes one call opens what the call needs, and asks nothing.
func TestOnce(t *testing.T) {
	m := &machine{notReady: map[string]error{"native": errDown}}
	r := m.start(t, "executor: {backend: podman}", backends.Options{Once: true})
	assert.Equal(t, []string{"native"}, m.opened)
	assert.True(t, m.config["native"].Native.Once)
	p, err := place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "python"})
	require.NoError(t, err)
	_, err = p.Backend.Run(t.Context(), p.Profile, sandbox.Command{Argv: []string{"true"}})
	assert.ErrorContains(t, err, "it is down", "it refuses by itself")
	_, err = place(t, r, config.Agent{}, tools.Request{Tool: tools.NameInline})
	require.NoError(t, err)
	assert.Equal(t, []string{"native", "podman"}, m.opened)
}

// Nothing runs without a configuration, with one that nobody checked, or after the end.
func TestNothingByOmission(t *testing.T) {
	_, err := backends.Open(t.Context(), nil, backends.Options{})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	bad := &config.Config{GOOS: "linux", Sandbox: config.Sandbox{PIDs: -1}}
	_, err = backends.Open(t.Context(), bad, backends.Options{Open: (&machine{}).open})
	require.ErrorIs(t, err, sandbox.ErrInvalid)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = backends.Open(over, parse(t, ""), backends.Options{Open: (&machine{}).open})
	require.ErrorIs(t, err, context.Canceled)

	var zero backends.Runner
	for _, name := range append(names(), tools.NameInline) {
		_, err := place(t, &zero, config.Agent{}, tools.Request{Tool: name})
		assert.ErrorIs(t, err, sandbox.ErrRefused, "%s", name)
	}
	assert.NoError(t, zero.Close())

	r := (&machine{}).start(t, "", backends.Options{})
	require.NoError(t, r.Close())
	_, err = place(t, r, config.Agent{}, tools.Request{Tool: tools.NameRunCode, Language: "bash"})
	assert.ErrorIs(t, err, sandbox.ErrUnavailable)
}

// The start says what it decided.
func TestStartIsLogged(t *testing.T) {
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, nil))
	r := (&machine{}).start(t, "runtime: {sandbox: {binary: docker, workspace: "+t.TempDir()+"}}", backends.Options{Logger: logger})
	assert.Contains(t, b.String(), "sandbox chosen")
	assert.NotEmpty(t, r.Messages())
	b.Reset()
	(&machine{}).start(t, "", backends.Options{Logger: logger, Inspect: true})
	assert.Empty(t, b.String())
}
