package native

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestLazySaysTheSame(t *testing.T) {
	var results []sandbox.Result
	for _, c := range []Config{{}, {Lazy: true}, {Lazy: true, Once: true}} {
		b, err := Open(t.Context(), c)
		require.NoError(t, err)
		r, err := b.Run(t.Context(), sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"sh", "-c", "exit 3"}})
		require.NoError(t, err)
		require.NoError(t, b.Close())
		results = append(results, r)
	}
	for _, r := range results[1:] {
		assert.Equal(t, 3, r.ExitCode)
		require.Len(t, r.Enforcement, len(results[0].Enforcement))
		for i, e := range r.Enforcement {
			if e.Guarantee == sandbox.PrivNonroot {
				continue // names the instance's own host ids
			}
			assert.Equal(t, results[0].Enforcement[i], e)
		}
	}
}

func TestLazyStartFailsTheCall(t *testing.T) {
	notSpawner := Config{Spawner: "/usr/bin/true"}
	_, err := Open(t.Context(), notSpawner)
	require.ErrorIs(t, err, sandbox.ErrUnavailable, "control: otherwise Open says so")

	notSpawner.Lazy = true
	for name, use := range map[string]func(context.Context, sandbox.Backend) error{
		"run": func(ctx context.Context, b sandbox.Backend) error {
			_, err := b.Run(ctx, sandbox.ContainerProfile{}, sandbox.Command{Argv: []string{"true"}})
			return err
		},
		"ready": func(ctx context.Context, b sandbox.Backend) error {
			_, err := b.Ready(ctx, sandbox.ContainerProfile{})
			return err
		},
		"prepare": func(ctx context.Context, b sandbox.Backend) error { return b.Prepare(ctx, sandbox.ContainerProfile{}) },
		"close":   func(context.Context, sandbox.Backend) error { return sandbox.ErrUnavailable },
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Open(t.Context(), notSpawner)
			require.NoError(t, err)
			assert.ErrorIs(t, use(t.Context(), b), sandbox.ErrUnavailable)
			assert.NoError(t, b.Close())
		})
	}
}
