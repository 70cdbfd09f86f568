package engines_test

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/test/conformance"
	"github.com/soulacy/toolcell/test/engines"
)

// recorder is a client that keeps the arguments of the last command of each kind.
type recorder struct {
	path string
	mu   sync.Mutex
	last map[string][]string
}

// Run implements [docker.Client].
func (r *recorder) Run(ctx context.Context, i docker.Invocation) (int, error) {
	r.mu.Lock()
	r.last[i.Args[0]] = slices.Clone(i.Args)
	r.mu.Unlock()
	cmd := exec.CommandContext(ctx, r.path, i.Args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = i.Stdout, i.Stderr, time.Second
	if i.Stdin != nil {
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		go func() { _, _ = io.Copy(in, i.Stdin); _ = in.Close() }()
	}
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// raw is the engine's own run with the flags of a create, and a program in the place of init.
func raw(create []string, program ...string) []string {
	args := append([]string{"run"}, create[1:len(create)-2]...)
	image := create[len(create)-2]
	for i := range args {
		switch args[i] {
		case "--name":
			args[i+1] += "-raw"
		case "--entrypoint":
			args[i+1] = program[0]
		}
	}
	return append(append(args, image), program[1:]...)
}

// BenchmarkCall times a call (create, inspect, start and the removal included) and the engine's own run with the same
// flags, in turns, and reports the ratio of their medians.
func BenchmarkCall(b *testing.B) {
	for _, k := range []engines.Kind{engines.Docker, engines.Podman} {
		b.Run(string(k), func(b *testing.B) {
			e := pool.Start(b, k)
			r := &recorder{path: e.Binary, last: map[string][]string{}}
			backend := openBench(b, e, r)
			call := func() {
				res, err := backend.Run(b.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"/bin/true"}})
				require.NoError(b, err)
				require.Zero(b, res.ExitCode, "%s", res.Stderr)
			}
			call()
			args := raw(r.last["create"], "/bin/true")
			compare(b, call, func() {
				out, err := e.Command(b.Context(), args...).CombinedOutput()
				require.NoError(b, err, "%q: %s", args, out)
			})
		})
	}
}

// BenchmarkSession times a call in a session and the engine's own exec, in turns.
func BenchmarkSession(b *testing.B) {
	for _, k := range []engines.Kind{engines.Docker, engines.Podman} {
		b.Run(string(k), func(b *testing.B) {
			e := pool.Start(b, k)
			r := &recorder{path: e.Binary, last: map[string][]string{}}
			s, err := openBench(b, e, r).OpenSession(b.Context(), sandbox.ContainerProfile{}, sandbox.SessionOptions{})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			create := r.last["create"]
			name := create[slices.Index(create, "--name")+1]
			compare(b, func() {
				res, err := s.Run(b.Context(), sandbox.Command{Argv: []string{"/bin/true"}})
				require.NoError(b, err)
				require.Zero(b, res.ExitCode, "%s", res.Stderr)
			}, func() {
				out, err := e.Command(b.Context(), "exec", "-i", name, "/bin/true").CombinedOutput()
				require.NoError(b, err, "%s", out)
			})
		})
	}
}

// openBench opens the backend with its program's environment set for the whole benchmark.
func openBench(b *testing.B, e *engines.Engine, r *recorder) *docker.Backend {
	e.Setenv(b)
	backend, err := docker.Open(b.Context(), docker.Config{
		Binary: e.Binary, Client: r, Image: e.Load(b, engines.Busybox()), ProbeTimeout: 30 * time.Second, Helper: conformance.Build(b, helperPackage),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, backend.Close()) })
	return backend
}

// compare runs both in turns.
func compare(b *testing.B, ours, theirs func()) {
	var a, c []time.Duration
	for b.Loop() {
		a = append(a, timed(ours))
		c = append(c, timed(theirs))
	}
	b.ReportMetric(float64(median(a).Microseconds())/1000, "ms/call")
	b.ReportMetric(float64(median(c).Microseconds())/1000, "ms/raw")
	b.ReportMetric(float64(median(a))/float64(median(c)), "ratio")
}

func timed(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
