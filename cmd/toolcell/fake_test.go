package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
)

// The test binary is its own spawner, as a program that embeds the backend is.
func TestMain(m *testing.M) {
	spawner.Main()
	os.Exit(m.Run())
}

// fake is a backend that does what a test says and remembers what it was asked.
type fake struct {
	name    string
	report  sandbox.Report
	ready   error
	run     func(context.Context, sandbox.Command) (sandbox.Result, error)
	profile sandbox.ContainerProfile
	command sandbox.Command
	stdin   []byte
	ran     bool
	closed  int
}

func (f *fake) Name() string { return f.name }

func (f *fake) Ready(_ context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	f.profile = p
	return f.report, f.ready
}

func (f *fake) Prepare(context.Context, sandbox.ContainerProfile) error { return nil }

func (f *fake) Run(ctx context.Context, p sandbox.ContainerProfile, c sandbox.Command) (sandbox.Result, error) {
	f.profile, f.command, f.ran = p, c, true
	if c.Stdin != nil {
		data, err := io.ReadAll(c.Stdin)
		if err != nil {
			return sandbox.Result{}, err
		}
		f.stdin = data
	}
	if f.run == nil {
		return sandbox.Result{Status: sandbox.StatusExited}, nil
	}
	return f.run(ctx, c)
}

func (f *fake) Close() error {
	f.closed++
	return nil
}

// Explain makes the fake a backend with a list of steps.
func (f *fake) Explain(_ context.Context, p sandbox.ContainerProfile, c sandbox.Command) (string, error) {
	return fmt.Sprintf("0 exec %s in %s\n", c.Argv[0], p.Image), nil
}

// terminal runs command lines against a fake backend.
type terminal struct {
	*fake
	env            map[string]string
	stdin          string
	stdout, stderr bytes.Buffer
	config         backends.Config
	opened         string
	openErr        error
}

func newTerminal() *terminal {
	var full sandbox.Report
	for _, g := range sandbox.Guarantees() {
		full = append(full, sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: "fake"})
	}
	return &terminal{fake: &fake{name: "native", report: full}, env: map[string]string{}}
}

// run runs one command line and returns its exit code.
func (s *terminal) run(args ...string) int {
	return s.runContext(context.Background(), args...)
}

func (s *terminal) runContext(ctx context.Context, args ...string) int {
	s.stdout.Reset()
	s.stderr.Reset()
	a := &app{
		stdin: strings.NewReader(s.stdin), stdout: &s.stdout, stderr: &s.stderr,
		lookupEnv: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		open: func(_ context.Context, name string, c backends.Config) (sandbox.Backend, error) {
			s.opened, s.config = name, c
			if s.openErr != nil {
				return nil, s.openErr
			}
			return s.fake, nil
		},
	}
	return a.run(ctx, args)
}

// script makes the fake print and end as res says.
func (s *terminal) script(res sandbox.Result) {
	s.fake.run = func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		for _, stream := range []struct {
			w    io.Writer
			data []byte
		}{{c.Stdout, res.Stdout}, {c.Stderr, res.Stderr}} {
			if stream.w == nil {
				continue
			}
			if _, err := stream.w.Write(stream.data); err != nil {
				return sandbox.Result{}, err
			}
		}
		return res, nil
	}
}

func (s *terminal) fail(err error) {
	s.fake.run = func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, err }
}

// oneLine requires exactly one line on stderr and returns it.
func (s *terminal) oneLine(t *testing.T) string {
	t.Helper()
	line, rest, ok := strings.Cut(s.stderr.String(), "\n")
	require.True(t, ok, "no line on stderr")
	require.Empty(t, rest, "more than one line on stderr")
	require.True(t, strings.HasPrefix(line, "toolcell: "), line)
	return line
}

var errPlain = errors.New("plain")
