package docker

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

func TestReadResponse(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello":                                         "200 hello",
		"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n":                                       "404 ",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n": "200 hello",
	} {
		status, body, err := readResponse(bufio.NewReader(iotest.OneByteReader(strings.NewReader(in))))
		require.NoError(t, err)
		assert.Equal(t, want, status+" "+string(body))
	}
	for _, bad := range []string{
		"", "SSH-2.0\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", strings.Repeat("x", 1<<20),
	} {
		_, _, err := readResponse(bufio.NewReader(strings.NewReader(bad)))
		assert.Error(t, err, "%.40q", bad)
	}
}

// The connection's answer is compared like a command's, and a connection that breaks, lies or hangs is not believed.
func TestDial(t *testing.T) {
	for name, tc := range map[string]struct {
		answer  string
		refused bool
		command bool
	}{
		"says what was made":   {"", false, false},
		"says something else":  {`{"Name":"x","Image":"sha256:1"}`, true, false},
		"does not have it":     {"404", false, true},
		"is no connection":     {"no", false, true},
		"does not answer ever": {"hang", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.dial = func(ctx context.Context, i Invocation) { answer(ctx, f, i, tc.answer) }
			b := openFake(t, f, func(c *Config) { c.ProbeTimeout = 500 * time.Millisecond })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := b.Run(ctx, sandbox.ContainerProfile{}, program("x"))
			if tc.refused {
				require.Error(t, err)
				assert.NotContains(t, f.verbs(), "start")
				return
			}
			require.NoError(t, err)
			if tc.command {
				assert.Contains(t, f.verbs(), "container")
			} else {
				assert.NotContains(t, f.verbs(), "container")
			}
		})
	}
}

// answer plays the engine's end of a connection once.
func answer(ctx context.Context, f *fakeEngine, i Invocation, with string) {
	in := bufio.NewReader(i.Stdin)
	for line := "x"; strings.TrimSpace(line) != ""; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return
		}
	}
	switch with {
	case "hang":
		<-ctx.Done()
		return
	case "no":
		return
	case "404":
		_, _ = io.WriteString(i.Stdout, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
	case "":
		with = f.described()
		fallthrough
	default:
		_, _ = io.WriteString(i.Stdout, "HTTP/1.1 200 OK\r\nContent-Length: "+itoa(len(with))+"\r\n\r\n"+with)
	}
	<-ctx.Done()
}
