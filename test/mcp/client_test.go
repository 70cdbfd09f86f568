package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/test/need"
)

// Code in every language runs, with the answer to the byte.
func TestRunCode(t *testing.T) {
	overBoth(t, nil, func(t *testing.T, c *mcp.ClientSession) {
		for language, code := range map[string]string{
			"python": "import sys; print(2 + 2); print('err', file=sys.stderr); sys.exit(3)",
			"node":   "console.log(2 + 2); console.error('err'); process.exit(3)",
			"bash":   "echo $((2 + 2)); echo err >&2; exit 3",
		} {
			if _, err := exec.LookPath(language); err != nil && !need.Everything() && language == "node" {
				t.Log("left out: there is no node here")
				continue
			}
			r := call(t, c, "run_code", args{"language": language, "code": code})
			assert.Equal(t, "Exit code: 3\n\n--- stdout ---\n4\n\n--- stderr ---\nerr\n", text(r), language)
			assert.Equal(t, "native", field(r, "backend"))
			assert.InDelta(t, 3, field(r, "exit_code"), 0)
		}
		r := call(t, c, "run_code", args{"language": "python", "code": "print(input())", "stdin": "in\n", "timeout_seconds": 20})
		assert.Equal(t, "Exit code: 0\n\n--- stdout ---\nin\n", text(r))
		r = call(t, c, "run_code", args{"language": "bash", "code": "sleep 600", "timeout_seconds": 1})
		assert.True(t, strings.HasPrefix(text(r), "Execution timed out after 1s\n"), text(r))
		r = call(t, c, "run_code", args{"language": "python", "code": "bytearray(1 << 31)"})
		assert.True(t, strings.HasPrefix(text(r), "Execution stopped: out of memory at 512 MB\n"), text(r))
	})
}

// What a program could do here, it cannot do there.
func TestConfined(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("sk-1234"), 0o644))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	attempts := map[string]string{
		"read a file":   "cat " + secret,
		"connect":       fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", port),
		"see processes": fmt.Sprintf("test -d /proc/%d/fd && tr '\\0' ' ' < /proc/%[1]d/cmdline | grep -q test", os.Getpid()),
		"write a file":  "echo x > " + secret + ".new",
	}
	for name, attempt := range attempts {
		out, err := exec.Command("bash", "-c", attempt).CombinedOutput()
		require.NoError(t, err, "the control: %s: %s", name, out)
	}
	overBoth(t, nil, func(t *testing.T, c *mcp.ClientSession) {
		for name, attempt := range attempts {
			r := call(t, c, "run_code", args{"language": "bash", "code": attempt})
			assert.NotZero(t, field(r, "exit_code"), name)
			assert.NotContains(t, text(r), "sk-1234")
			r = call(t, c, "shell_exec", args{"command": "bash -c " + "'" + strings.ReplaceAll(attempt, "'", `'\''`) + "'"})
			assert.NotZero(t, field(r, "exit_code"), name)
		}
		id := field(call(t, c, "shell_exec", args{"command": "ln -s " + secret + " link; ln -s / root"}), "session_id")
		for _, p := range []string{"link", "root" + secret, secret, "../../../" + secret} {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: args{"path": p, "session_id": id}})
			require.NoError(t, err)
			assert.True(t, r.IsError, p)
		}
	})
}

// A workspace is kept between calls of every tool, and is the session's own.
func TestSession(t *testing.T) {
	overBoth(t, nil, func(t *testing.T, c *mcp.ClientSession) {
		id := field(call(t, c, "write_file", args{"path": "data/in.csv", "content": "a,1\nb,2\n"}), "session_id")
		r := call(t, c, "shell_exec", args{"command": "cut -d, -f2 in.csv | paste -sd+ | tee sum; pwd", "working_dir": "data", "session_id": id})
		assert.Equal(t, "1+2\n/workspace/data\n", text(r))
		r = call(t, c, "run_code", args{"language": "python", "code": "print(eval(open('/workspace/data/sum').read()))", "session_id": id})
		assert.Equal(t, "Exit code: 0\n\n--- stdout ---\n3\n", text(r))
		r = call(t, c, "read_file", args{"path": "data/sum", "session_id": id})
		assert.Equal(t, "1+2\n", text(r))
		r = call(t, c, "list_files", args{"recursive": true, "session_id": id})
		assert.Equal(t, "data/\ndata/in.csv (8 bytes)\ndata/sum (4 bytes)\n", text(r))
		other := call(t, c, "shell_exec", args{"command": "ls -A | wc -l"})
		assert.Equal(t, "0\n", text(other))
		assert.NotEqual(t, id, field(other, "session_id"))
		r = call(t, c, "run_code", args{"language": "bash", "code": "ls /workspace"})
		assert.NotZero(t, field(r, "exit_code"), "run_code without a session sees none")
	})
}

// An image that code made arrives as one.
func TestImage(t *testing.T) {
	const code = `
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + bytes((x * 16, y * 16, 128)) * 1 for y in range(1) for x in range(1))
open("dot.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
`
	overBoth(t, nil, func(t *testing.T, c *mcp.ClientSession) {
		r := call(t, c, "run_code", args{"language": "python", "code": code})
		require.Len(t, r.Content, 2, text(r))
		image, ok := r.Content[1].(*mcp.ImageContent)
		require.True(t, ok)
		assert.Equal(t, "image/png", image.MIMEType)
		decoded, err := png.Decode(bytes.NewReader(image.Data))
		require.NoError(t, err)
		assert.Equal(t, 1, decoded.Bounds().Dx())
	})
}

// A client that asked for it hears of a program that runs, and what it printed last.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var heard []*mcp.ProgressNotificationParams
	seen := make(chan struct{}, 100)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, r.Params)
		select {
		case seen <- struct{}{}:
		default:
		}
	}}
	overBoth(t, o, func(t *testing.T, c *mcp.ClientSession) {
		mu.Lock()
		heard = nil
		mu.Unlock()
		p := &mcp.CallToolParams{Name: "shell_exec", Arguments: args{"command": `i=0; while [ $i -lt 8 ]; do i=$((i + 1)); echo "step $i"; sleep 0.5; done`, "timeout": 120}}
		p.SetProgressToken("a")
		r, err := c.CallTool(t.Context(), p)
		require.NoError(t, err)
		require.False(t, r.IsError, text(r))
		for range 2 {
			<-seen
		}
		mu.Lock()
		defer mu.Unlock()
		for i, h := range heard {
			assert.Equal(t, "a", h.ProgressToken)
			assert.Regexp(t, `^(running|step \d)$`, h.Message)
			if i > 0 {
				assert.Greater(t, h.Progress, heard[i-1].Progress)
			}
		}
		assert.Regexp(t, `^step \d$`, heard[len(heard)-1].Message)
	})
}

// A call that is canceled ends with everything it started, and the server is there for the next.
func TestCancel(t *testing.T) {
	overBoth(t, nil, func(t *testing.T, c *mcp.ClientSession) {
		word := "lasting-" + strings.ReplaceAll(t.Name(), "/", "-")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "run_code", Arguments: lasting(word)})
			ended <- err
		}()
		eventually(t, func() bool { return len(processes(t, word)) > 0 }, "it runs")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		eventually(t, func() bool { return len(processes(t, word)) == 0 }, "it has ended")
		call(t, c, "run_code", args{"language": "bash", "code": "true"})
	})
}

// Many clients at once have their own answers and their own files.
func TestManyClients(t *testing.T) {
	m := newMachine(t)
	s := m.listen(t)
	var wait sync.WaitGroup
	for i := range 8 {
		c := s.client(t, nil)
		wait.Go(func() {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_file", Arguments: args{"path": "me", "content": fmt.Sprint(i)}})
			if !assert.NoError(t, err) || !assert.False(t, r.IsError, text(r)) {
				return
			}
			id := field(r, "session_id")
			for range 3 {
				r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "shell_exec", Arguments: args{"command": "cat me; ls", "session_id": id}})
				if assert.NoError(t, err) {
					assert.Equal(t, fmt.Sprintf("%dme\n", i), text(r))
				}
			}
		})
	}
	wait.Wait()
}
