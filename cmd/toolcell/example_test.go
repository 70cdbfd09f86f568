package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/backends"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/config"
	"github.com/soulacy/toolcell/sandbox/tools"
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

// callPython is the README's example of an agent's own tool.
func callPython(ctx context.Context, runner *backends.Runner, agent config.Agent, dir string) error {
	result, err := runner.Tools(agent).PythonFile(ctx, tools.FileArgs{
		PythonCall: tools.PythonCall{
			Name:      "forecast",
			Arguments: json.RawMessage(`{"city": "Oslo", "days": 3}`),
			Progress:  func(p tools.Progress) { fmt.Println("progress:", p.Percent, p.Status) },
			Log:       func(line string) { fmt.Println("log:", line) },
		},
		File: "weather.py", Base: dir, // Function is the tool's name if it is left out
	})
	if err != nil {
		return err // it did not run; tools.Final(err) says that trying again is of no use
	}
	if err := result.Failed(); err != nil {
		return err // it ran and gave no result: an exception, a limit
	}
	fmt.Println(result.Output)
	return nil
}

// readmeBlocks are the fenced blocks of a language in a section of the README.
func readmeBlocks(t *testing.T, heading, language string) []string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(readme), "\n## "+heading+"\n")
	require.True(t, ok, "the README has a section %q", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "\n```"+language+"\n")[1:]
	for i, block := range blocks {
		blocks[i], _, ok = strings.Cut(block, "\n```\n")
		require.True(t, ok, "a block ends")
	}
	return blocks
}

// Every Go example of the README's sections about the library and the tools is compiled and run here.
func TestReadmeGo(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	for heading, count := range map[string]int{"As a library": 2, "The tools": 1} {
		blocks := readmeBlocks(t, heading, "go")
		require.Len(t, blocks, count, heading)
		for _, block := range blocks {
			assert.Contains(t, string(source), "\n"+block+"\n")
		}
	}
}

// The README's Python tool, called as its Go example calls it, in a sandbox and on the host.
func TestReadmePython(t *testing.T) {
	requireNative(t)
	blocks := readmeBlocks(t, "The tools", "python")
	require.Len(t, blocks, 1)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weather.py"), []byte(blocks[0]), 0o600))
	for _, isolation := range []string{"container", "limits"} {
		c, err := config.Parse("test", []byte("runtime: {sandbox: {python_tools: "+isolation+"}}"), config.Options{})
		require.NoError(t, err)
		runner, err := backends.Open(t.Context(), c, backends.Options{})
		require.NoError(t, err)
		out := printed(t, func() { err = callPython(t.Context(), runner, config.Agent{ID: "scout"}, dir) })
		require.NoError(t, errors.Join(err, runner.Close()))
		assert.ElementsMatch(t, []string{
			"log: looking for Oslo", "progress: 50 found", `{"city": "Oslo", "days": 3, "neighbours": ["weather.py"]}`,
		}, strings.Split(strings.TrimSpace(out), "\n"), isolation)
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
