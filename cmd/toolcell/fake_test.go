package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/fake"
)

// The test binary is its own spawner, and supervises programs on the host, as a program that embeds the backends does.
func TestMain(m *testing.M) {
	spawner.Main()
	host.Main()
	os.Exit(m.Run())
}

// backend is the scripted backend with a list of steps, which counts how often it is closed.
type backend struct {
	*fake.Backend
	asked  sandbox.ContainerProfile // by Ready
	closed int
}

func (b *backend) Ready(ctx context.Context, p sandbox.ContainerProfile) (sandbox.Report, error) {
	b.asked = p
	return b.Backend.Ready(ctx, p)
}

func (b *backend) Close() error {
	b.closed++
	return b.Backend.Close()
}

// Explain makes it a backend with a list of steps.
func (b *backend) Explain(_ context.Context, p sandbox.ContainerProfile, c sandbox.Command) (string, error) {
	return fmt.Sprintf("0 exec %s in %s\n", c.Argv[0], p.Image), nil
}

// terminal runs command lines, each against a scripted backend of its own.
type terminal struct {
	// What the next command lines find.
	env     map[string]string
	stdin   string
	report  sandbox.Report
	ready   error
	prepare error
	openErr error
	reply   fake.Reply
	during  func() // called while the program runs

	// What the last one did.
	stdout, stderr bytes.Buffer
	backend        *backend
	opened         string
	config         backends.Config
}

func newTerminal() *terminal { return &terminal{env: map[string]string{}} }

// run runs one command line and returns its exit code.
func (s *terminal) run(args ...string) int {
	s.stdout.Reset()
	s.stderr.Reset()
	s.backend = nil
	a := &app{
		stdin: strings.NewReader(s.stdin), stdout: &s.stdout, stderr: &s.stderr,
		lookupEnv: func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		open:      s.open,
	}
	return a.run(context.Background(), args)
}

func (s *terminal) open(_ context.Context, name string, c backends.Config) (sandbox.Backend, error) {
	s.opened, s.config = name, c
	if s.openErr != nil {
		return nil, s.openErr
	}
	s.backend = &backend{Backend: &fake.Backend{
		BackendName: "native", Report: s.report, ReadyErr: s.ready, PrepareErr: s.prepare,
		Handler: func(fake.Call) fake.Reply {
			if s.during != nil {
				s.during()
			}
			return s.reply
		},
	}}
	return s.backend, nil
}

// call returns the one call that the last command line made.
func (s *terminal) call(t *testing.T) fake.Call {
	t.Helper()
	require.NotNil(t, s.backend, "no backend was opened")
	require.Len(t, s.backend.Calls(), 1)
	return s.backend.Calls()[0]
}

// ranNothing requires that the last command line made no call.
func (s *terminal) ranNothing(t *testing.T) {
	t.Helper()
	if s.backend != nil {
		require.Empty(t, s.backend.Calls())
	}
}

// lack makes the backend's report miss one guarantee.
func (s *terminal) lack(e sandbox.Enforcement) {
	for _, g := range sandbox.Guarantees() {
		if g == e.Guarantee {
			s.report = append(s.report, e)
			continue
		}
		s.report = append(s.report, sandbox.Enforcement{Guarantee: g, Enforced: true, Mechanism: "script"})
	}
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
