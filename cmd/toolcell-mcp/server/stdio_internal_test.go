package server

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A client that has ended its input and takes no answers does not keep the server.
func TestUntakenAnswers(t *testing.T) {
	unread, out := io.Pipe()
	defer unread.Close()
	c := newLineConn(strings.NewReader(""), out, slog.New(slog.DiscardHandler))
	c.last = time.Millisecond
	wrote := make(chan error, 2)
	id, err := jsonrpc.MakeID("a")
	require.NoError(t, err)
	for range 2 {
		go func() { wrote <- c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}) }()
	}
	_, err = c.Read(t.Context())
	require.ErrorIs(t, err, io.EOF)
	for range 2 {
		require.ErrorIs(t, <-wrote, errUntaken)
	}
	assert.ErrorIs(t, c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte("{}")}), errUntaken)
}
