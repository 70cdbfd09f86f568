package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Kind names an engine.
type Kind string

// The engines.
const (
	Docker  Kind = "docker"
	Podman  Kind = "podman"
	Nerdctl Kind = "nerdctl"
)

// Switch is the environment variable that turns the tests with real engines on when it is 1.
const Switch = "SOULACY_DOCKER_TESTS"

// longVariable makes every test run on every engine that it is for when it is 1.
const longVariable = "TOOLCELL_TEST_LONG"

// requireVariable makes an engine that is missing a failure when it is 1.
const requireVariable = "TOOLCELL_TEST_REQUIRE"

// clientTimeout bounds one client that this package itself runs. Loading a Debian is the longest.
const clientTimeout = 3 * time.Minute

// errMissing is in the chain of errors that say what the machine lacks.
var errMissing = errors.New("not on this machine")

// Engine is a running engine.
type Engine struct {
	Kind Kind
	// Binary is the absolute path of the client.
	Binary string
	// Env is what the client needs beside the environment of the test, as NAME=VALUE.
	Env []string
	// Dir holds everything the engine writes. It is removed when the engine stops.
	Dir string

	daemon *daemon // of Docker
	stop   func() error
	mu     sync.Mutex
	loaded map[string]bool
}

// Pool holds the engines that one test binary has started. The zero value holds none. It is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	engines map[Kind]*Engine
	failed  map[Kind]error
	started []*Engine
}

// Main runs the tests of m, stops every engine, and returns the exit code. It is for TestMain.
func (p *Pool) Main(m *testing.M) int {
	code := m.Run()
	if err := p.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		return max(code, 1)
	}
	return code
}

// Start returns the engine, which it starts on the first call. It skips t when engines are not switched on, or when this
// machine lacks the engine and does not have to have it; t fails when an engine that is there does not start.
func (p *Pool) Start(t testing.TB, k Kind) *Engine {
	t.Helper()
	skipUnlessSwitchedOn(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	e, err := p.start(k)
	skip(t, err)
	require.NoError(t, err, "start %s", k)
	return e
}

// skipUnlessSwitchedOn skips t when nobody asked for real engines.
func skipUnlessSwitchedOn(t testing.TB) {
	t.Helper()
	if os.Getenv(Switch) != "1" {
		t.Skipf("real container engines are switched on by %s=1", Switch)
	}
}

// Long reports whether there is time for everything: TOOLCELL_TEST_LONG=1.
func Long() bool { return os.Getenv(longVariable) == "1" }

// Among returns kinds when there is time for everything, else the first of them alone.
func Among(kinds ...Kind) []Kind {
	if Long() {
		return kinds
	}
	return kinds[:1]
}

// skip skips t when err says what the machine lacks and the machine need not have it.
func skip(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv(requireVariable) != "1" {
		t.Skip(err)
	}
}

// start returns the engine k. An engine that failed is not tried again: every test would wait for the same failure.
func (p *Pool) start(k Kind) (*Engine, error) {
	if e, err := p.engines[k], p.failed[k]; e != nil || err != nil {
		return e, err
	}
	e, err := p.launch(k)
	if err != nil {
		p.failed = put(p.failed, k, err)
		return nil, err
	}
	p.engines = put(p.engines, k, e)
	p.started = append(p.started, e)
	return e, nil
}

func put[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}

func (p *Pool) launch(k Kind) (*Engine, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%s: started by root alone: %w", k, errMissing)
	}
	switch k {
	case Docker:
		return startDocker()
	case Podman:
		return startPodman()
	case Nerdctl:
		docker, err := p.start(Docker)
		if err != nil {
			return nil, err
		}
		return startNerdctl(docker)
	}
	return nil, fmt.Errorf("no engine %q", k)
}

// Stop stops every engine, the last one first, and removes what they made. The Pool may start engines again.
func (p *Pool) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for i := len(p.started) - 1; i >= 0; i-- {
		if err := p.started[i].stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.started[i].Kind, err))
		}
	}
	p.engines, p.failed, p.started = nil, nil, nil
	return errors.Join(errs...)
}

// Command returns a client of the engine, not yet started.
func (e *Engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Binary, args...)
	cmd.Env = append(os.Environ(), e.Env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// Setenv sets the engine's environment for the rest of t, for clients that t does not start itself.
func (e *Engine) Setenv(t testing.TB) {
	t.Helper()
	for _, kv := range e.Env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

// output runs a client and returns its output.
func (e *Engine) output(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	out, err := e.Command(ctx, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %q: %w: %s", e.Kind, args, err, out)
	}
	return string(out), nil
}

// find returns the absolute path of a program, also when it is where only root's PATH leads.
func find(name, pkg string) (string, error) {
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/", "/usr/bin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s (package %s): %w", name, pkg, errMissing)
}
