package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/sandbox"
)

// wrapped is what `toolcell __exec-sandbox` did as a process of its own.
type wrapped struct {
	code           int
	stdout, stderr string
}

// execSandboxProcess makes this test binary the command; env is its whole environment.
func execSandboxProcess(t *testing.T, env []string, args ...string) wrapped {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"-test.run", "^TestIsExecSandbox$", "--", execSandboxName}, args...)...)
	cmd.Env = append(slices.Clip(env), "TEST_IS_EXEC_SANDBOX=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input"), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	state, ok := cmd.ProcessState.Sys().(interface{ Signaled() bool })
	require.False(t, ok && state.Signaled(), "%v %s", cmd.ProcessState, stderr.String())
	return wrapped{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// Not a test, but the process of the one above.
func TestIsExecSandbox(*testing.T) {
	if os.Getenv("TEST_IS_EXEC_SANDBOX") == "" {
		return
	}
	if os.Getenv("TEST_NO_SETRLIMIT") != "" {
		denySetrlimit()
	}
	args := os.Args[slices.Index(os.Args, "--")+1:]
	os.Exit(run(context.Background(), args, os.Stdin, os.Stdout, os.Stderr))
}

func posixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such limits: see TestExecSandboxOnWindows")
	}
}

func TestExecSandboxOnWindows(t *testing.T) {
	if runtime.GOOS != "windows" {
		return
	}
	r := execSandboxProcess(t, os.Environ(), "--cpu=1", "--", "cmd", "/c", "exit 0")
	assert.Equal(t, 126, r.code)
	assert.Contains(t, r.stderr, "python_tools: container")
}

func TestExecSandbox(t *testing.T) {
	posixOnly(t)
	env := os.Environ()
	for _, tc := range []struct {
		args   []string
		code   int
		stdout string
	}{
		{[]string{"--", "/bin/sh", "-c", "cat; exit 9"}, 9, "input"},
		{[]string{"--cpu=5", "--nofile=50", "--fsize=2", "--", "sh", "-c", "ulimit -t; ulimit -Hn; ulimit -f"}, 0, "5\n50\n4096\n"},
		{[]string{"--cpu", "5", "--nofile", "50", "--fsize", "2", "--", "sh", "-c", "ulimit -t; ulimit -Hn; ulimit -f"}, 0, "5\n50\n4096\n"},
		{[]string{"--cpu=0", "--mem=0", "--nofile=0", "--fsize=0", "--", "echo", "--", "--cpu=x"}, 0, "-- --cpu=x\n"},
		{[]string{"--", "no-such-program"}, 127, ""},
		{[]string{"--", "/no/such"}, 127, ""},
		{[]string{"--", "/etc"}, 127, ""},
	} {
		r := execSandboxProcess(t, env, tc.args...)
		assert.Equal(t, tc.code, r.code, "%q: %s", tc.args, r.stderr)
		assert.Equal(t, tc.stdout, r.stdout, "%q", tc.args)
		if tc.code == 127 {
			assert.Equal(t, 1, strings.Count(r.stderr, "\n"), "one line: %s", r.stderr)
		}
	}
}

func TestExecSandboxMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // macOS says that it skips this limit, Windows refuses
	}
	r := execSandboxProcess(t, os.Environ(), "--mem=300", "--", "sh", "-c", "ulimit -v; ulimit -Hv")
	assert.Equal(t, "307200\n307200\n", r.stdout)
	assert.Empty(t, r.stderr)
}

func TestExecSandboxBadArguments(t *testing.T) {
	for _, args := range [][]string{
		nil, {"--"}, {"--", ""}, {"true"}, {"--cpu=1", "true"}, {"--cpu"}, {"--cpu=1"}, {"--cpu=x", "--", "true"},
		{"--cpu=-1", "--", "true"}, {"--mem=1e3", "--", "true"}, {"--mem=99999999999999999999", "--", "true"}, {"--mem=2000000000", "--", "true"},
		{"--nofile=", "--", "true"}, {"--pids=1", "--", "true"}, {"-cpu=1", "--", "true"}, {"--cpu", "--", "true"}, {"--env"},
	} {
		var stderr bytes.Buffer
		assert.EqualValues(t, 2, execSandbox(args, nil, &stderr), "%q", args)
		assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), "%q: %s", args, stderr.String())
	}
}

// The environment is filtered, and a value is never an argument.
func TestExecSandboxEnvironment(t *testing.T) {
	posixOnly(t)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/h", "LANG=C", "TMPDIR=/t", "SECRET=1", "FOO=foo", "ODD NAME=1", "É=2", "LD_PRELOAD="}
	r := execSandboxProcess(t, env, "--env=FOO", "--env", "ODD NAME", "--env=BAR=1", "--env=", "--env=UNSET", "--env=É", "--env=LD_PRELOAD", "--", "env")
	assert.ElementsMatch(t, []string{env[0], "HOME=/h", "LANG=C", "TMPDIR=/t", "FOO=foo", "É=2", "LD_PRELOAD="}, strings.Split(strings.TrimSpace(r.stdout), "\n"))
}

func TestParseExecSandbox(t *testing.T) {
	limits, names, argv, err := parseExecSandbox([]string{"--mem=7", "--env=A", "--cpu", "3", "--env", "B", "--fsize=4", "--nofile=5", "--", "x", "--", "-y"})
	require.NoError(t, err)
	assert.Equal(t, host.Rlimits{CPUSeconds: 3, MemoryMB: 7, OpenFiles: 5, FileSizeMB: 4}, limits)
	assert.Equal(t, []string{"A", "B"}, names)
	assert.Equal(t, []string{"x", "--", "-y"}, argv)
}

// Only a call of host.Open reaches the host: no name, no flag, no variable.
func TestHostHasNoName(t *testing.T) {
	for _, name := range []string{"host", "limits", "unsandboxed", "local", "process", "HOST"} {
		_, err := backends.OpenBackend(context.Background(), name, backends.Config{})
		require.ErrorIs(t, err, sandbox.ErrRefused, name)
		assert.NotContains(t, backends.Names(), name)

		var stdout, stderr bytes.Buffer
		marker := t.TempDir() + "/marker"
		args := []string{"run", "--rm", "--backend", name, "host", "touch", marker}
		assert.Equal(t, 125, run(context.Background(), args, strings.NewReader(""), &stdout, &stderr), name)
		t.Setenv("TOOLCELL_BACKEND", name)
		assert.Equal(t, 125, run(context.Background(), []string{"run", "--rm", "host", "touch", marker}, strings.NewReader(""), &stdout, &stderr), name)
		assert.NoFileExists(t, marker)
	}
}

// It is no command that a help lists.
func TestExecSandboxIsHidden(t *testing.T) {
	s := newTerminal()
	require.Zero(t, s.run("--help"))
	assert.NotContains(t, s.stdout.String(), execSandboxName)
}
