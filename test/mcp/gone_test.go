package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw is a server that is spoken to without the SDK, and has a call that does not end.
type raw struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout io.ReadCloser
	out    *bufio.Reader
}

func (m machine) raw(t *testing.T, word string) *raw {
	t.Helper()
	r := &raw{cmd: m.command()}
	var err error
	r.in, err = r.cmd.StdinPipe()
	require.NoError(t, err)
	r.stdout, err = r.cmd.StdoutPipe()
	require.NoError(t, err)
	r.out = bufio.NewReader(r.stdout)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	})
	r.send(t, args{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": args{
		"protocolVersion": "2025-06-18", "capabilities": args{}, "clientInfo": args{"name": "raw", "version": "1"},
	}})
	_, err = r.out.ReadString('\n')
	require.NoError(t, err)
	r.send(t, args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	r.send(t, args{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": args{"name": "write_file", "arguments": args{"path": "f", "content": "x"}}})
	_, err = r.out.ReadString('\n')
	require.NoError(t, err)
	r.send(t, args{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": args{"name": "run_code", "arguments": lasting(word)}})
	eventually(t, func() bool { return len(processes(t, word)) > 0 }, "it runs")
	require.NotEmpty(t, m.left(t), "the control: there is something to leave")
	return r
}

func (r *raw) send(t *testing.T, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	_, err = r.in.Write(append(data, '\n'))
	require.NoError(t, err)
}

// A client that goes away in the middle of a call leaves no process and no file, and the server ends.
func TestGoneClient(t *testing.T) {
	m := newMachine(t)
	r := m.raw(t, "lasting-gone-client")
	require.NoError(t, r.in.Close())
	require.NoError(t, r.cmd.Wait())
	assert.Empty(t, processes(t, "lasting-gone-client"))
	assert.Empty(t, m.left(t))
}

// So does a signal.
func TestSignal(t *testing.T) {
	// What has a handler here has the default in a program, however the tests themselves were started.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(caught)
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 129} {
		m := newMachine(t)
		r := m.raw(t, "lasting-signal")
		require.NoError(t, r.cmd.Process.Signal(sig))
		_ = r.cmd.Wait()
		assert.Equal(t, code, r.cmd.ProcessState.ExitCode())
		assert.Empty(t, processes(t, "lasting-signal"))
		assert.Empty(t, m.left(t))
	}
}

// A client that takes no answers keeps no server: neither from a signal, nor when it closes what it does not read.
func TestUnreadAnswers(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, r *raw) (code int){
		"signal": func(t *testing.T, r *raw) int {
			require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
			return 143
		},
		"closed": func(t *testing.T, r *raw) int {
			require.NoError(t, r.stdout.Close())
			return 0
		},
	} {
		m := newMachine(t)
		r := m.raw(t, "lasting-unread-"+name)
		for i := range 4 { // together more than a pipe holds
			r.send(t, args{"jsonrpc": "2.0", "id": 10 + i, "method": "tools/call", "params": args{
				"name": "run_code", "arguments": args{"language": "python", "code": "print('x' * 100000)"},
			}})
		}
		_, err := r.out.Peek(1)
		require.NoError(t, err, "there are answers")
		code := end(t, r)
		_ = r.cmd.Wait()
		assert.Equal(t, code, r.cmd.ProcessState.ExitCode(), name)
		assert.Empty(t, processes(t, "lasting-unread-"+name))
		assert.Empty(t, m.left(t), name)
	}
}

// A server that is killed leaves no process, and its files to the next one to remove.
func TestKilledServer(t *testing.T) {
	m := newMachine(t)
	r := m.raw(t, "lasting-killed-server")
	require.NoError(t, r.cmd.Process.Kill())
	_ = r.cmd.Wait()
	eventually(t, func() bool { return len(processes(t, "lasting-killed-server")) == 0 }, "what it ran has ended")
	old := m.left(t)
	require.NotEmpty(t, old)
	next := m.command()
	in, err := next.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, next.Start())
	require.NoError(t, in.Close())
	require.NoError(t, next.Wait())
	assert.Empty(t, m.left(t))
}

// A client of HTTP that goes away in the middle of a call ends it; its session stays, and so does the server.
func TestGoneHTTPClient(t *testing.T) {
	m := newMachine(t)
	s := m.listen(t)
	c := s.client(t, nil)
	id := field(call(t, c, "write_file", args{"path": "f", "content": "x"}), "session_id")
	const word = "lasting-gone-http"
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	other := s.client(t, nil)
	go func() {
		_, err := other.CallTool(ctx, &mcp.CallToolParams{Name: "run_code", Arguments: lasting(word)})
		ended <- err
	}()
	eventually(t, func() bool { return len(processes(t, word)) > 0 }, "it runs")
	cancel()
	require.Error(t, <-ended)
	eventually(t, func() bool { return len(processes(t, word)) == 0 }, "it has ended")
	assert.Equal(t, "x", text(call(t, c, "read_file", args{"path": "f", "session_id": id})))
}

// What a program leaves in a workspace does not keep it: neither depth nor modes, nor a link.
func TestHostileWorkspace(t *testing.T) {
	m := newMachine(t)
	t.Run("session", func(t *testing.T) {
		c := m.stdio(t, nil)
		const code = `
import os
os.chdir("/workspace")
os.symlink("/", "root")
for _ in range(5000):
    os.mkdir("deep-directory"); os.chdir("deep-directory")
open("f", "w").close()
os.chmod("/workspace/deep-directory", 0)
os.chmod("/workspace", 0)
`
		id := field(call(t, c, "shell_exec", args{"command": "true"}), "session_id")
		r := call(t, c, "run_code", args{"language": "python", "code": code, "session_id": id, "timeout_seconds": 120})
		last, isText := r.Content[len(r.Content)-1].(*mcp.TextContent)
		require.True(t, isText)
		assert.Contains(t, last.Text, "The workspace is full: directories nested deeper than 64", "as it goes on, or when it has ended")
	})
	assert.Empty(t, m.left(t))
	assert.FileExists(t, "/etc/passwd")
}

// What is on stdout is the protocol's alone, also at the highest level of logging.
func TestStdoutIsTheProtocols(t *testing.T) {
	m := newMachine(t)
	cmd := m.command()
	cmd.Env = append(cmd.Env, "TOOLCELL_LOG=debug")
	cmd.Stdin = strings.NewReader("garbage\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	assert.Contains(t, stderr.String(), "level=")
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		var message struct {
			Version string `json:"jsonrpc"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &message), line)
		assert.Equal(t, "2.0", message.Version)
	}
	assert.NotEmpty(t, lines)
}
