package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/need"
)

// inspectorVersion is the version of the protocol's inspector that these tests, and the README, use.
const inspectorVersion = "2.12.0"

// inspector returns the path of the protocol's inspector, which npm installs once. Without node, npm or a registry the test
// is skipped, or fails under TOOLCELL_TEST_REQUIRE=1.
func inspector(t *testing.T) string {
	t.Helper()
	programs.RequireNative(t)
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "toolcell", "inspector-"+inspectorVersion)
	program := filepath.Join(dir, "node_modules", ".bin", "mcp-inspector")
	for _, name := range []string{"node", "npm"} {
		_, err := exec.LookPath(name)
		need.NoError(t, err, "the inspector needs it")
	}
	if _, err := os.Stat(program); err == nil {
		return program
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "inspector-")
	require.NoError(t, err)
	defer os.RemoveAll(fresh)
	cmd := exec.Command("npm", "install", "--prefix", fresh, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save",
		"@modelcontextprotocol/inspector@"+inspectorVersion)
	out, err := cmd.CombinedOutput()
	need.NoError(t, err, "the inspector cannot be installed: "+string(out))
	if err := os.Rename(fresh, dir); err != nil { // another test's was first
		require.FileExists(t, program)
	}
	return program
}

// inspect runs the inspector in its command-line mode and returns its exit code, its output and its complaints.
func (m machine) inspect(t *testing.T, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := exec.Command(inspector(t), append([]string{"--cli", "--connect-timeout", "120000"}, flags...)...)
	cmd.Env = append(m.command().Env, "HOME="+t.TempDir(), "PATH="+programs.SearchPath())
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), complaints.String()
}

// overEach runs a test over both transports, as clients of the older and of the newer protocol reach them.
func overEach(t *testing.T, test func(t *testing.T, run func(flags ...string) (int, string, string))) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run("stdio "+era, func(t *testing.T) {
			m := newMachine(t)
			test(t, func(flags ...string) (int, string, string) {
				return m.inspect(t, append([]string{"--protocol-era", era, programs.Toolcell(), "mcp"}, flags...)...)
			})
		})
		t.Run("http "+era, func(t *testing.T) {
			m := newMachine(t)
			s := m.listen(t)
			test(t, func(flags ...string) (int, string, string) {
				at := []string{"--protocol-era", era, "--transport", "http", "--server-url", s.url, "--header", "Authorization: Bearer " + token}
				return m.inspect(t, append(at, flags...)...)
			})
		})
	}
}

// The inspector finds nothing to complain about in the tools, and calls them.
func TestInspector(t *testing.T) {
	overEach(t, func(t *testing.T, run func(...string) (int, string, string)) {
		code, stdout, stderr := run("--method", "tools/list", "--strict")
		require.Zero(t, code, stderr)
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(stdout), &list), stdout)
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		assert.Equal(t, []string{"list_files", "read_file", "run_code", "shell_exec", "write_file"}, names)

		code, stdout, stderr = run("--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "language=python", "--tool-arg", "code=print(2 + 2)")
		require.Zero(t, code, stderr)
		var result struct {
			Content []struct{ Type, Text string }
			Program struct {
				Status string
				Stdout string
			} `json:"structuredContent"`
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &result), stdout)
		require.Len(t, result.Content, 1)
		assert.Equal(t, "Exit code: 0\n\n--- stdout ---\n4\n", result.Content[0].Text)
		assert.Equal(t, "exited", result.Program.Status)
		assert.Equal(t, "4\n", result.Program.Stdout)

		code, stdout, _ = run("--method", "tools/call", "--tool-name", "run_code", "--tool-arg", "language=rust", "--tool-arg", "code=fn main() {}")
		assert.Equal(t, 5, code, "the inspector's code for isError")
		assert.Contains(t, stdout, `unsupported language \"rust\" (supported: bash, node, python).`)
		code, _, stderr = run("--method", "tools/call", "--tool-name", "nosuch")
		assert.NotZero(t, code)
		assert.Contains(t, stderr, "nosuch")
	})
}

// Without the token it gets nothing.
func TestInspectorWithoutToken(t *testing.T) {
	m := newMachine(t)
	s := m.listen(t)
	code, stdout, _ := m.inspect(t, "--transport", "http", "--server-url", s.url, "--stored-auth-only", "--method", "tools/list")
	assert.NotZero(t, code)
	assert.NotContains(t, stdout, "run_code")
}
