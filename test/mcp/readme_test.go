package mcp_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blocks returns the fenced blocks of one language in the README's section about the server.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(data), "\n## MCP server\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(section, -1) {
		out = append(out, m[1])
	}
	return out
}

// started starts a server by a client's configuration and asks it for its tools.
func (m machine) started(t *testing.T, command string, arguments ...string) {
	t.Helper()
	cmd := exec.Command("env", append([]string{command}, arguments...)...) // which looks it up in the PATH, as clients do
	cmd.Env = append(m.command().Env, "PATH="+programs.SearchPath())
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: patience}, nil)
	require.NoError(t, err)
	assert.Equal(t, "Exit code: 0\n\n--- stdout ---\n4\n", text(call(t, session, "run_code", args{"language": "bash", "code": "echo 4"})))
	require.NoError(t, session.Close())
}

// Claude Code starts what stands after the dashes.
func TestReadmeClaudeCode(t *testing.T) {
	m := newMachine(t)
	words, ok := strings.CutPrefix(blocks(t, "sh")[0], "claude mcp add toolcell -- ")
	require.True(t, ok)
	command := strings.Fields(words)
	m.started(t, command[0], command[1:]...)
}

// entry is a server in a client's configuration.
type entry struct {
	Type, Command string
	Args          []string
}

// Claude Desktop and VS Code start what their files say. The inspector reads the first kind of file as it is.
func TestReadmeConfigurations(t *testing.T) {
	m := newMachine(t)
	files := blocks(t, "json")
	require.Len(t, files, 2)
	var desktop struct {
		Servers map[string]entry `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal([]byte(files[0]), &desktop))
	var code struct{ Servers map[string]entry }
	require.NoError(t, json.Unmarshal([]byte(files[1]), &code))
	assert.Equal(t, "stdio", code.Servers["toolcell"].Type)
	for _, e := range []entry{desktop.Servers["toolcell"], code.Servers["toolcell"]} {
		m.started(t, e.Command, e.Args...)
	}
	config := filepath.Join(t.TempDir(), "claude_desktop_config.json")
	require.NoError(t, os.WriteFile(config, []byte(files[0]), 0o600))
	status, stdout, stderr := m.inspect(t, "--config", config, "--server", "toolcell", "--method", "tools/list")
	require.Zero(t, status, stderr)
	assert.Contains(t, stdout, "run_code")
}

// The server over HTTP is started by one line, and found by what the other tells a client.
func TestReadmeHTTP(t *testing.T) {
	m := newMachine(t)
	serve, add, ok := strings.Cut(blocks(t, "sh")[1], "\n")
	require.True(t, ok)
	url := regexp.MustCompile(`http://\S+`).FindString(add)
	require.Contains(t, add, `--header "Authorization: Bearer $(cat token)"`)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600))
	cmd := exec.Command("bash", "-c", "exec "+serve)
	cmd.Dir = dir
	cmd.Env = append(m.command().Env, "TOOLCELL_MCP_TOKEN=", "PATH="+programs.SearchPath())
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "toolcell: serving on "+url+"\n", line)
	call(t, site{url, cmd}.client(t, nil), "run_code", args{"language": "bash", "code": "true"})
}

// The transcripts are what the inspector prints. "..." stands for any text within a line, and alone for any lines.
func TestReadmeTranscript(t *testing.T) {
	m := newMachine(t)
	const npx = "npx @modelcontextprotocol/inspector@" + inspectorVersion + " "
	dir, program := t.TempDir(), inspector(t)
	ran := 0
	for _, block := range blocks(t, "text") {
		for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			cmd := exec.Command("bash", "-c", "{ "+strings.Replace(line, npx, program+" ", 1)+"\n} 2>&1")
			cmd.Dir = dir
			cmd.Env = append(m.command().Env, "HOME="+dir, "PATH="+programs.SearchPath())
			out, err := cmd.Output()
			require.NoError(t, err, "%s: %s", line, out)
			assert.Regexp(t, pattern(want), strings.TrimRight(string(out), "\n"), line)
			ran++
		}
	}
	assert.Equal(t, 3, ran)
}

// pattern matches the whole output.
func pattern(want string) *regexp.Regexp {
	var b strings.Builder
	for _, line := range strings.Split(want, "\n") {
		if line == "..." {
			b.WriteString(`(.*\n)+`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.+`) + `\n`)
	}
	return regexp.MustCompile(`\A` + strings.TrimSuffix(b.String(), `\n`) + `\z`)
}
