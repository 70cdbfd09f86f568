package main_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
)

// A program that embeds toolcell: this is the README's example.
func Example() {
	ctx := context.Background()
	backend, err := backends.OpenBackend(ctx, "native", backends.Config{})
	if err != nil {
		fmt.Println(err) // says what is missing on this machine, and the fix
		return
	}
	defer backend.Close()

	// What is not said is denied: no network, no mounts, small limits.
	profile := sandbox.ContainerProfile{
		Limits: sandbox.Limits{MemoryMB: 256, Wall: 10 * time.Second},
	}
	result, err := backend.Run(ctx, profile, sandbox.Command{
		Argv: []string{"python3", "-c", "print(6 * 7)"},
	})
	if err != nil {
		fmt.Println(err) // the program did not run: refused, invalid, or not found
		return
	}
	fmt.Println(result.Status, result.ExitCode, string(result.Stdout))
}

// The example runs where the backend can enforce the profile.
func TestExample(t *testing.T) {
	requireNative(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	Example()
	os.Stdout = stdout
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "exited 0 42\n\n", string(out))
}

// requireNative skips, or under TOOLCELL_TEST_REQUIRE=1 fails, where the native backend cannot enforce the profile.
func requireNative(t *testing.T) {
	t.Helper()
	backend, err := backends.OpenBackend(t.Context(), "native", backends.Config{})
	if err == nil {
		_, err = backend.Ready(t.Context(), sandbox.ContainerProfile{})
		require.NoError(t, backend.Close())
	}
	if err != nil && os.Getenv("TOOLCELL_TEST_REQUIRE") == "1" {
		require.NoError(t, err)
	}
	if err != nil {
		t.Skip(err)
	}
}
