package main_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
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

// Sandboxes that stand ready: this is the README's second example.
func Example_standingReady() {
	ctx := context.Background()
	backend, err := backends.OpenBackend(ctx, "native", backends.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer backend.Close()
	profile := sandbox.ContainerProfile{}
	if a, ok := backend.(sandbox.Armer); ok {
		err = a.Arm(ctx, profile, sandbox.Arming{Count: 4})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := backend.Run(ctx, profile, sandbox.Command{Argv: []string{"echo", "from one of them"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status, result.ExitCode, string(result.Stdout))
}

// Every Go example of the README's section about the library is compiled and run here.
func TestReadmeLibrary(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(readme), "\n## As a library\n")
	require.True(t, ok, "the README has a section about the library")
	section, _, _ = strings.Cut(section, "\n## ")
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	blocks := strings.Split(section, "\n```go\n")[1:]
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		block, _, ok := strings.Cut(block, "\n```\n")
		require.True(t, ok, "a block ends")
		assert.Contains(t, string(source), "\n"+block+"\n")
	}
}

// The examples run where the backend can enforce the profile.
func TestExample(t *testing.T) {
	requireNative(t)
	assert.Equal(t, "exited 0 42\n\n", printed(t, Example))
	assert.Equal(t, "exited 0 from one of them\n\n", printed(t, Example_standingReady))
}

// printed is what f prints.
func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	f()
	os.Stdout = stdout
	require.NoError(t, w.Close())
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(out)
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
