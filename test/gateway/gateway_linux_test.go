package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
	"github.com/soulacy/toolcell/test/shipped"
)

// programs are the miniature gateway, and toolcell.
var programs shipped.Programs

func TestMain(m *testing.M) {
	os.Exit(programs.Main(m, "cmd/toolcell", "test/gateway"))
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

// conversation is one run of the miniature gateway.
type conversation struct {
	answers []answer
	log     string
}

type answer struct {
	Text   string
	Error  bool
	Result json.RawMessage
}

// talk sends calls to the miniature gateway and returns its answers.
func talk(t *testing.T, operator, manifest string, calls ...string) conversation {
	t.Helper()
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "config.yaml"), strings.ReplaceAll(operator, "$WORK", dir))
	soul := write(t, filepath.Join(dir, "scout", "SOUL.yaml"), manifest)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(programs.Dir(), "gateway"), file, soul)
	cmd.Env = append(os.Environ(), "GATEWAY_KEY=sk-of-the-gateway")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(calls, "\n")), &stdout, &stderr
	require.NoError(t, cmd.Run(), stderr.String())
	c := conversation{log: stderr.String()}
	for d := json.NewDecoder(&stdout); d.More(); {
		var a answer
		require.NoError(t, d.Decode(&a))
		c.answers = append(c.answers, a)
	}
	require.Len(t, c.answers, len(calls))
	return c
}

func call(tool, arguments string) string {
	return fmt.Sprintf(`{"tool": %q, "arguments": %s}`, tool, arguments)
}

// The example is a whole gateway: it says at its start where calls run, runs them there, and refuses the others.
func TestMiniatureGateway(t *testing.T) {
	programs.RequireNative(t)
	operator := "runtime:\n  allow_system_agents: [scout]\n  sandbox: {workspace: $WORK/ws}\n"
	c := talk(t, operator, "id: scout\n",
		call("write_file", `{"path": "/workspace/numbers.txt", "content": "3\n1\n2\n"}`),
		call("shell_exec", `{"command": "sort numbers.txt; env; id -u; ls /sys/class/net | wc -l; echo x > /etc/x"}`),
		call("run_code", `{"language": "python", "code": "print(6 * 7)"}`),
		call("read_file", `{"path": "../../etc/passwd"}`),
		call("shell_exec", `{"command": "true", "nonsense": 1}`),
		call("browser", `{}`),
	)
	assert.Contains(t, c.log, "sandbox chosen")
	assert.Contains(t, c.log, "run_code: isolated by native")
	a := c.answers
	assert.False(t, a[0].Error, a[0].Text)
	assert.False(t, a[1].Error, a[1].Text)
	assert.Contains(t, a[1].Text, "1\n2\n3\n")
	assert.Contains(t, a[1].Text, "/etc/x: Read-only file system")
	assert.NotContains(t, a[1].Text, "sk-of-the-gateway")
	var r struct {
		Backend     string
		Status      string
		Enforcement []sandbox.Enforcement
	}
	require.NoError(t, json.Unmarshal(a[1].Result, &r))
	assert.Equal(t, "native", r.Backend)
	assert.Len(t, r.Enforcement, len(sandbox.Guarantees()))
	for _, e := range r.Enforcement {
		assert.True(t, e.Enforced || e.Guarantee == sandbox.IPCNoHostSockets, "%+v", e)
	}
	assert.Contains(t, a[2].Text, "42")
	for _, refused := range a[3:] {
		assert.True(t, refused.Error, refused.Text)
		assert.Regexp(t, "^Error: ", refused.Text)
	}
}

// Who is not offered the builtins does not get them; run_code is everybody's.
func TestMiniatureGatewayOffersWhatItMay(t *testing.T) {
	programs.RequireNative(t)
	c := talk(t, "runtime: {sandbox: {workspace: $WORK/ws}}\n", "id: scout\n",
		call("shell_exec", `{"command": "true"}`), call("run_code", `{"language": "bash", "code": "echo yes"}`))
	assert.True(t, c.answers[0].Error)
	assert.Contains(t, c.answers[1].Text, "yes")
}

// Without a sandbox everything is refused, and the start says so; nothing falls back to the host.
func TestMiniatureGatewayWithoutSandbox(t *testing.T) {
	operator := "runtime:\n  allow_system_agents: [scout]\n  sandbox: {binary: /nonexistent/docker, workspace: $WORK/ws}\n" +
		"executor: {docker_network: tools}\n"
	var calls []string
	for _, d := range tools.Definitions() {
		calls = append(calls, call(string(d.Name), arguments[d.Name]))
	}
	c := talk(t, operator, "id: scout\n", calls...)
	assert.Contains(t, c.log, " ERROR ")
	assert.Contains(t, c.log, "refused, not ready: isolated by /nonexistent/docker")
	for i, a := range c.answers {
		assert.True(t, a.Error, calls[i])
		assert.Contains(t, a.Text, "/nonexistent/docker", calls[i])
	}
}

// arguments are what each tool can be called with.
var arguments = map[tools.Name]string{
	tools.NameRunCode:        `{"language": "python", "code": "print(1)"}`,
	tools.NameShellExec:      `{"command": "true"}`,
	tools.NameRunScript:      `{"path": "x.sh"}`,
	tools.NamePythonEval:     `{"code": "print(1)"}`,
	tools.NameInstallLibrary: `{"manager": "pip", "package": "x"}`,
	tools.NameWriteFile:      `{"path": "x", "content": "x"}`,
	tools.NameDownloadFile:   `{"url": "https://192.0.2.1/x", "path": "x"}`,
	tools.NameReadFile:       `{"path": "x"}`,
	tools.NameListFiles:      `{}`,
}
