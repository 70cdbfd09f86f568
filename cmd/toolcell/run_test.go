package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/fake"
)

// The table of the README and of `toolcell run --help`.
func TestRunExitCodes(t *testing.T) {
	for _, tc := range []struct {
		name string
		res  sandbox.Result
		want int
	}{
		{"success", sandbox.Result{Status: sandbox.StatusExited}, 0},
		{"the program's own 1", sandbox.Result{Status: sandbox.StatusExited, ExitCode: 1}, 1},
		{"the program's own 125", sandbox.Result{Status: sandbox.StatusExited, ExitCode: 125}, 125},
		{"signal", sandbox.Result{Status: sandbox.StatusSignaled, ExitCode: -1, Signal: "SIGSEGV", SignalNumber: 11}, 139},
		{"timeout", sandbox.Result{Status: sandbox.StatusTimeout, ExitCode: -1}, 124},
		{"cpu time", sandbox.Result{Status: sandbox.StatusCPUTimeout, ExitCode: -1}, 124},
		{"memory", sandbox.Result{Status: sandbox.StatusOOM, ExitCode: -1}, 137},
		{"file size", sandbox.Result{Status: sandbox.StatusFileSize, ExitCode: -1, Signal: "SIGXFSZ", SignalNumber: 25}, 153},
		{"canceled", sandbox.Result{Status: sandbox.StatusCanceled, ExitCode: -1}, 130},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newTerminal()
			s.reply = fake.Reply{Result: tc.res}
			assert.Equal(t, tc.want, s.run("run", "host", "prog"))
			assert.Equal(t, 1, s.backend.closed, "the backend is closed")
		})
	}
}

func TestRunErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
		line string
	}{
		{"not found", &sandbox.Error{Kind: sandbox.KindInvalid, Op: "start x", Cause: sandbox.ErrNotFound}, 127, "toolcell: start x: program not found"},
		{"not executable", &sandbox.Error{Kind: sandbox.KindInvalid, Op: "start x", Cause: sandbox.ErrNotExecutable}, 126, "toolcell: start x: program not executable"},
		{
			"refused", &sandbox.Error{Kind: sandbox.KindRefused, Op: "run", Guarantee: sandbox.LimitMemory, Cause: errPlain, Fix: "do it"}, 125,
			"toolcell: run: limit.memory: plain (do it)",
		},
		{"a plain error", errors.New("plain\n\x1b[2J"), 125, "toolcell: plain\n\\x1b[2J"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newTerminal()
			s.reply = fake.Fail(tc.err)
			assert.Equal(t, tc.want, s.run("run", "host", "x"))
			assert.Equal(t, tc.line+"\n", s.stderr.String())
			assert.Equal(t, 1, s.backend.closed)

			assert.Equal(t, tc.want, s.run("run", "--json", "host", "x"))
			var got struct {
				Error struct{ Kind, Message, Fix string }
			}
			require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &got))
			assert.NotEmpty(t, got.Error.Kind)
			assert.Empty(t, s.stderr.String())
		})
	}
}

// A bad command line opens nothing and says so in one line.
func TestRunBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"run"},
		{"run", "host"},
		{"run", "--privileged", "host", "true"},
		{"run", "--network", "host", "host", "true"},
		{"run", "--runtime", "runsc", "host", "true"},
		{"run", "--config", "/no/such/file", "host", "true"},
		{"run", "--user", "0", "host", "true"},
		{"nonsense"},
		{"doctor", "extra"},
		{"doctor", "--nonsense"},
		{"profile", "--plan", "--docker"},
	} {
		s := newTerminal()
		assert.Equal(t, 125, s.run(args...), "%q", args)
		assert.Empty(t, s.stdout.String(), "%q", args)
		s.oneLine(t)
		s.ranNothing(t)
	}
}

func TestRunPassesTheCall(t *testing.T) {
	s := newTerminal()
	s.stdin = "input"
	s.reply = fake.Reply{Result: sandbox.Result{Status: sandbox.StatusExited, Stdout: []byte("out\x1b[1m"), Stderr: []byte("err")}}
	require.Equal(t, 0, s.run("run", "-i", "--name", "c-1", "-m", "64m", "--backend", "native", "host", "prog", "-x"))
	call := s.call(t)
	assert.Equal(t, "native", s.opened)
	assert.Equal(t, []string{"prog", "-x"}, call.Command.Argv)
	assert.Equal(t, "c-1", call.Command.ID)
	assert.Equal(t, "input", string(call.Stdin))
	assert.Equal(t, 64, call.Profile.Limits.MemoryMB)
	assert.Equal(t, "host", call.Profile.Image)
	assert.Equal(t, "out\x1b[1m", s.stdout.String(), "what is no terminal gets the bytes as they are")
	assert.Equal(t, "err", s.stderr.String())
}

// Without -i the program's input is empty, as with an engine.
func TestRunWithoutStdin(t *testing.T) {
	s := newTerminal()
	s.stdin = "input"
	require.Equal(t, 0, s.run("run", "host", "prog"))
	assert.Nil(t, s.call(t).Stdin)
}

func TestRunJSON(t *testing.T) {
	s := newTerminal()
	s.reply = fake.Reply{Result: sandbox.Result{Backend: "native", Status: sandbox.StatusExited, ExitCode: 3, Stdout: []byte("out"), Hints: []string{"a hint"}}}
	assert.Equal(t, 3, s.run("run", "--json", "-e", "HOME=/nowhere", "host", "prog"))
	var got map[string]any
	require.NoError(t, json.Unmarshal(s.stdout.Bytes(), &got))
	assert.Equal(t, "out", got["stdout"])
	assert.InDelta(t, 3, got["exit_code"], 0)
	assert.Len(t, got["hints"], 2)
	assert.Empty(t, s.stderr.String())
}

// Hints speak when something went wrong; a success stays quiet for programs.
func TestRunHints(t *testing.T) {
	s := newTerminal()
	s.reply = fake.Reply{Result: sandbox.Result{Status: sandbox.StatusOOM, ExitCode: -1, Hints: []string{"out of memory at 512 MiB"}}}
	s.run("run", "host", "prog")
	assert.Equal(t, "toolcell: out of memory at 512 MiB\n", s.stderr.String())

	s.reply = fake.Reply{Result: sandbox.Result{Status: sandbox.StatusExited, Hints: []string{"unimportant"}}}
	s.run("run", "host", "prog")
	assert.Empty(t, s.stderr.String())

	s.reply = fake.Reply{Result: sandbox.Result{Status: sandbox.StatusExited, Stdout: []byte("abc"), StdoutTruncated: true, StdoutBytes: 9}}
	s.run("run", "host", "prog")
	assert.Equal(t, "toolcell: stdout is cut: 3 of 9 bytes; --output-limit keeps more\n", s.stderr.String())
}

// A gateway that was written for the host forwards its own PATH, HOME and TMPDIR.
func TestRunDropsForeignEnvironment(t *testing.T) {
	s := newTerminal()
	s.env["PATH"] = "/opt/x:/home/me/bin"
	s.run("run", "-e", "PATH", "-e", "HOME=/root", "-e", "TMPDIR=/tmp/x", "-e", "A=1", "host", "prog")
	assert.Equal(t, []string{"TMPDIR=/tmp/x", "A=1"}, s.call(t).Command.Env)
}

func TestForeign(t *testing.T) {
	image := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(image, "home/app"), 0o755))
	require.NoError(t, os.Symlink("/etc", filepath.Join(image, "out")))
	profile := sandbox.ContainerProfile{Binds: []sandbox.Mount{{Source: image, Target: "/data"}}, Interpreters: []string{"/opt/py/bin/python3"}}
	host, err := newInside(profile, nil)
	require.NoError(t, err)
	profile.Image = "app"
	app, err := newInside(profile, map[string]string{"app": image})
	require.NoError(t, err)
	for _, tc := range []struct {
		in          inside
		name, value string
		foreign     bool
	}{
		{host, "PATH", "/usr/bin:/opt/x", false},
		{host, "PATH", "/opt/x:bin:", true},
		{host, "PATH", "/opt/py/bin", false},
		{host, "PATH", "", true},
		{host, "HOME", "/data", false},
		{host, "HOME", "/data/sub", false},
		{host, "HOME", "/database", true},
		{host, "HOME", "/home/app", true},
		{host, "HOME", "relative", true},
		{host, "TMPDIR", "/tmp/../root", true},
		{host, "LANG", "/nowhere", false},
		{app, "HOME", "/home/app", false},
		{app, "HOME", "/home/other", true},
		{app, "HOME", "/out/hostname", true},
		{app, "PATH", "/usr/bin", true},
	} {
		assert.Equal(t, tc.foreign, tc.in.foreign(tc.name, tc.value), "%s=%s", tc.name, tc.value)
	}
}

// A signal ends the call through its context, and the exit code names the signal.
func TestRunSignals(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		s := newTerminal()
		s.reply = fake.Reply{Block: true}
		s.during = func() {
			self, err := os.FindProcess(os.Getpid())
			require.NoError(t, err)
			require.NoError(t, self.Signal(sig))
		}
		assert.Equal(t, want, s.run("run", "host", "prog"), sig.String())
	}
}

func TestEnvironmentChoosesBackend(t *testing.T) {
	s := newTerminal()
	s.env["TOOLCELL_BACKEND"] = "podman"
	s.run("run", "host", "prog")
	assert.Equal(t, "podman", s.opened)
	s.run("run", "--backend", "native", "host", "prog")
	assert.Equal(t, "native", s.opened)

	s.env["TOOLCELL_LOG"] = "chatty"
	assert.Equal(t, 125, s.run("run", "host", "prog"))
}

func TestConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "toolcell", "config.yaml")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chmod(file, mode))
	}
	s := newTerminal()
	s.env["XDG_CONFIG_HOME"] = dir

	assert.Equal(t, 0, s.run("run", "host", "true"), "no file is no error")

	write("runtime:\n  python_bin: x\n  sandbox:\n    images: {app: /srv/app}\n    waive: [limit.cpu]\n    require: [ipc.no-host-sockets]\n", 0o644)
	require.Equal(t, 0, s.run("run", "host", "true"), s.stderr.String())
	assert.Equal(t, map[string]string{"app": "/srv/app"}, s.config.Native.Images)
	assert.Equal(t, []sandbox.Waiver{{Guarantee: sandbox.LimitCPU, Reason: file + ":5"}}, s.config.Native.Waivers)
	assert.Equal(t, []sandbox.Guarantee{sandbox.IPCNoHostSockets}, s.call(t).Profile.Require)
	assert.Equal(t, []string{file}, s.config.Native.Protected)

	for name, text := range map[string]string{
		"an unknown guarantee": "runtime: {sandbox: {waive: [limit.everything]}}",
		"no YAML":              "runtime: [",
		"a wrong type":         "runtime: {sandbox: {images: 3}}",
		"two documents":        "a: 1\n---\nb: 2\n",
	} {
		write(text, 0o600)
		assert.Equal(t, 125, s.run("run", "host", "true"), name)
		s.oneLine(t)
	}
	write("runtime: {sandbox: {pids: -1, mode: x}}", 0o600)
	assert.Equal(t, 125, s.run("run", "--json", "host", "true"))
	for _, part := range []string{`runtime.sandbox.pids`, `problems in all: 2`, "`toolcell config check --json` has them all"} {
		assert.Contains(t, s.stdout.String(), part)
	}
	write("runtime: {}\n", 0o666)
	assert.Equal(t, 125, s.run("run", "host", "true"), "a file that others may write")
	write("", 0o600)
	assert.Equal(t, 0, s.run("run", "host", "true"), "an empty file")
}

// auto takes the first backend that would run a call, and says what each lacks when there is none.
func TestAutoBackend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte("runtime: {sandbox: {binary: auto}}\n"), 0o600))
	s := newTerminal()
	s.env["TOOLCELL_CONFIG"] = file
	require.Equal(t, 0, s.run("run", "host", "true"))
	assert.Equal(t, "native", s.opened, "the first one will do")

	s.ready = errPlain
	assert.Equal(t, 125, s.run("run", "host", "true"))
	assert.Equal(t, "nerdctl", s.opened, "every one was asked")
	line := s.oneLine(t)
	for _, name := range []string{"native", "docker", "podman", "nerdctl"} {
		assert.Contains(t, line, name)
	}

	s.env["TOOLCELL_BACKEND"] = "other"
	assert.Equal(t, 125, s.run("run", "host", "true"))
	assert.Contains(t, s.oneLine(t), "TOOLCELL_BACKEND")
}
