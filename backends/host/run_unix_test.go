//go:build linux || darwin

package host

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestHowProgramsEnd(t *testing.T) {
	for _, tc := range []struct {
		script string
		status sandbox.Status
		code   int
		signal string
	}{
		{"exit 0", sandbox.StatusExited, 0, ""},
		{"exit 3", sandbox.StatusExited, 3, ""},
		{"exit 125", sandbox.StatusExited, 125, ""},
		{"exit 126", sandbox.StatusExited, 126, ""},
		{"exit 127", sandbox.StatusExited, 127, ""},
		{"exit 137", sandbox.StatusExited, 137, ""},
		{"kill -TERM $$", sandbox.StatusSignaled, -1, "SIGTERM"},
		{"kill -KILL $$", sandbox.StatusSignaled, -1, "SIGKILL"},
		{"kill -HUP $$", sandbox.StatusSignaled, -1, "SIGHUP"},
		{"kill -XCPU $$", sandbox.StatusSignaled, -1, "SIGXCPU"}, // without the time
		{"no-such-program", sandbox.StatusExited, 127, ""},
	} {
		r := run(t, sandbox.ContainerProfile{}, sh(tc.script))
		assert.Equal(t, tc.status, r.Status, tc.script)
		assert.Equal(t, tc.code, r.ExitCode, tc.script)
		assert.Equal(t, tc.signal, r.Signal, tc.script)
		assert.Equal(t, Name, r.Backend)
		assert.NotEmpty(t, r.ID)
		assert.NotZero(t, r.Usage.Wall)
		assert.Nil(t, r.Usage.MaxMemory, "what is not measured is not 0")
	}
}

func TestProgramsThatDoNotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o644)
	for name, tc := range map[string]struct {
		c  sandbox.Command
		is error
	}{
		"not there":         {sandbox.Command{Argv: []string{"/no/such"}}, sandbox.ErrNotFound},
		"below a file":      {sandbox.Command{Argv: []string{plain + "/x"}}, sandbox.ErrNotFound},
		"not in PATH":       {sandbox.Command{Argv: []string{"no-such-program"}}, sandbox.ErrNotFound},
		"directory":         {sandbox.Command{Argv: []string{dir}}, sandbox.ErrNotExecutable},
		"no x bit":          {sandbox.Command{Argv: []string{plain}}, sandbox.ErrNotExecutable},
		"no x bit, in PATH": {sandbox.Command{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}}, sandbox.ErrNotExecutable},
		"no format":         {sandbox.Command{Argv: []string{write("data", "data", 0o755)}}, sandbox.ErrNotExecutable},
		"no interpreter":    {sandbox.Command{Argv: []string{write("script", "#!/no/such\n", 0o755)}}, sandbox.ErrNotExecutable},
		"relative PATH":     {sandbox.Command{Argv: []string{"script"}, Env: []string{"PATH=."}, Dir: dir}, sandbox.ErrNotFound},
		"no directory":      {sandbox.Command{Argv: []string{"true"}, Dir: "/no/such"}, os.ErrNotExist},
		"NUL":               {sandbox.Command{Argv: []string{"true", "a\x00b"}}, sandbox.ErrInvalid},
		"nothing":           {sandbox.Command{}, sandbox.ErrInvalid},
		"more time":         {sandbox.Command{Argv: []string{"true"}, Timeout: time.Hour}, sandbox.ErrRefused},
	} {
		for _, mode := range []Mode{Limits, Unsandboxed} {
			_, err := open(t, mode).Run(context.Background(), sandbox.ContainerProfile{}, tc.c)
			require.ErrorIs(t, err, tc.is, "%s: %v", name, err)
			if !errors.Is(err, sandbox.ErrRefused) {
				assert.ErrorIs(t, err, sandbox.ErrInvalid, name)
			}
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestInputAndOutput(t *testing.T) {
	input := strings.Repeat("line\xff\x00\n", 100_000)
	c := sh("cat; echo wrong >&2")
	c.Stdin = strings.NewReader(input)
	var tap bytes.Buffer
	c.Stdout = &tap
	r := run(t, sandbox.ContainerProfile{}, c)
	assert.True(t, input == string(r.Stdout), "the input comes back")
	assert.True(t, input == tap.String(), "the caller's writer has it too")
	assert.Equal(t, "wrong\n", string(r.Stderr))
	assert.False(t, r.StdoutTruncated)

	r = run(t, sandbox.ContainerProfile{}, sh("cat"))
	assert.Empty(t, r.Stdout, "no input is an empty one")

	c = sh("exit 0")
	c.Stdin = strings.NewReader(input) // nobody reads it
	assert.Zero(t, run(t, sandbox.ContainerProfile{}, c).ExitCode)

	r = run(t, sandbox.ContainerProfile{}, sh("cat /dev/stdin; echo out >/dev/stdout"))
	assert.Equal(t, "out\n", string(r.Stdout), "the streams can be opened again")
}

func TestOutputIsCut(t *testing.T) {
	p := sandbox.ContainerProfile{Limits: sandbox.Limits{OutputKB: 4}}
	r := run(t, p, sh("head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2"))
	assert.Zero(t, r.ExitCode, "a program that writes on is not killed for it")
	assert.Len(t, r.Stdout, 4<<10)
	assert.True(t, r.StdoutTruncated)
	assert.EqualValues(t, 3_000_000, r.StdoutBytes)
	assert.Len(t, r.Stderr, 10)
	assert.False(t, r.StderrTruncated)
	assert.Contains(t, r.Hints, "stdout was cut at 4 KB of 3000000 bytes")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestCallersWriterThatFails(t *testing.T) {
	c := sh("echo a; sleep 0.1; echo b")
	c.Stdout = brokenWriter{}
	assert.Equal(t, "a\nb\n", string(run(t, sandbox.ContainerProfile{}, c).Stdout))
}

func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_GATEWAY", "s3cret")
	t.Setenv("LANG", "C")
	t.Setenv("TMPDIR", "/tmp")
	p := sandbox.ContainerProfile{Env: []string{"A=profile", "B=profile"}}
	c := sandbox.Command{Argv: []string{"env", "-0"}, Env: []string{"A=call", "odd name=1", "é=\xff", "x.y-z=a=b\nc", "EMPTY=", "LANG=C.UTF-8"}}
	r := run(t, p, c)
	got := strings.Split(strings.TrimSuffix(string(r.Stdout), "\x00"), "\x00")
	want := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=/tmp", "B=profile"}, c.Env...)
	assert.ElementsMatch(t, want, got)
}

// A loader's variable is the program's: neither the supervisor nor the wrapper sees it.
func TestLoaderVariablesReachTheProgramAlone(t *testing.T) {
	for _, e := range []string{"LD_PRELOAD=/no/such.so", "GODEBUG=inittrace=1", "GOGC=off", "GOMAXPROCS=zero", "BASH_ENV=/no/such"} {
		c := sh(`printenv "$1"`, strings.SplitN(e, "=", 2)[0])
		c.Env = []string{e}
		r := run(t, sandbox.ContainerProfile{}, c)
		assert.Equal(t, strings.SplitN(e, "=", 2)[1]+"\n", string(r.Stdout))
		assert.NotContains(t, string(r.Stderr), "init ", "Go's runtime has read %s", e)
	}
}

// The values of the environment are on no command line, and the arguments are what was given.
func TestArguments(t *testing.T) {
	args := []string{"", " ", "-x", "--", "a\nb", "\xff\xfe", `"'$(exit 9)`, strings.Repeat("x", sandbox.MaxArg-1)}
	c := sh(`for a; do printf '%s\0' "$a"; done`, args...)
	r := run(t, sandbox.ContainerProfile{}, c)
	assert.Equal(t, strings.Join(args, "\x00")+"\x00", string(r.Stdout))
}

func TestWorkingDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := sh("pwd -P; echo x >file")
	c.Dir = dir
	assert.Equal(t, dir+"\n", string(run(t, sandbox.ContainerProfile{}, c).Stdout))
	assert.FileExists(t, filepath.Join(dir, "file"), "it is the host's own")
	r := run(t, sandbox.ContainerProfile{Workdir: dir}, sh("pwd -P"))
	assert.Equal(t, dir+"\n", string(r.Stdout))
	c = sandbox.Command{Argv: []string{"./run"}, Dir: dir}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\necho here\n"), 0o755))
	assert.Equal(t, "here\n", string(run(t, sandbox.ContainerProfile{}, c).Stdout))
}

func TestDeadline(t *testing.T) {
	for _, script := range []string{"sleep 999", "trap '' TERM INT HUP; while :; do sleep 1; done", "sleep 999 & sleep 999 & wait"} {
		c := sh(script)
		c.Timeout = 200 * time.Millisecond
		r := run(t, sandbox.ContainerProfile{}, c)
		assert.Equal(t, sandbox.StatusTimeout, r.Status, script)
		assert.Empty(t, r.Signal)
		assert.Equal(t, -1, r.ExitCode)
		assert.Equal(t, []string{"timed out after 200ms"}, r.Hints)
	}
}

func TestCancel(t *testing.T) {
	b := open(t, Limits)
	ctx, cancel := context.WithCancel(context.Background())
	c := sh("echo started; sleep 999")
	c.Stdout = writerFunc(func() { cancel() })
	r, err := b.Run(ctx, sandbox.ContainerProfile{}, c)
	require.NoError(t, err)
	assert.Equal(t, sandbox.StatusCanceled, r.Status)
	assert.Equal(t, "started\n", string(r.Stdout))

	_, err = b.Run(ctx, sandbox.ContainerProfile{}, c)
	require.ErrorIs(t, err, context.Canceled, "a context that has ended starts nothing")
}

type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) { f(); return len(p), nil }

func TestCloseEndsCalls(t *testing.T) {
	b, err := Open(Config{Mode: Unsandboxed})
	require.NoError(t, err)
	started := make(chan struct{})
	c := sh("echo started; sleep 999")
	c.Stdout = writerFunc(func() { close(started) })
	status := make(chan sandbox.Status)
	go func() {
		r, _ := b.Run(context.Background(), sandbox.ContainerProfile{}, c)
		status <- r.Status
	}()
	<-started
	go func() { assert.NoError(t, b.Close()) }()
	assert.Equal(t, sandbox.StatusCanceled, <-status)
	require.NoError(t, b.Close())
	_, err = b.Run(context.Background(), sandbox.ContainerProfile{}, c)
	require.ErrorIs(t, err, sandbox.ErrUnavailable)
}

func TestCallsAtOnce(t *testing.T) {
	b := open(t, Limits)
	t.Run("all", func(t *testing.T) {
		for _, word := range strings.Fields("a b c d e f g h i j k l") {
			t.Run(word, func(t *testing.T) {
				t.Parallel()
				c := sh("cat; exit 4")
				c.Stdin = strings.NewReader(word)
				r, err := b.Run(context.Background(), sandbox.ContainerProfile{}, c)
				require.NoError(t, err)
				assert.Equal(t, word, string(r.Stdout))
				assert.Equal(t, 4, r.ExitCode)
			})
		}
	})
}

// No descriptor of the caller reaches the program, whatever its flags.
func TestDescriptors(t *testing.T) {
	r := run(t, sandbox.ContainerProfile{}, sh(`for f in 3 4 5 6 7 8 9; do (eval ": <&$f") 2>/dev/null && echo $f; done; exit 0`))
	assert.Empty(t, string(r.Stdout))
}
