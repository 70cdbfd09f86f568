package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/test/fake"
)

// wire is a client that writes what it likes.
type wire struct {
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Reader
}

func (s *scene) wire(t *testing.T) *wire {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeLines(context.Background(), in, out) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		_ = fromServer.Close()
		assert.NoError(t, <-served)
	})
	return &wire{t, toServer, bufio.NewReaderSize(fromServer, 1<<20)}
}

func (w *wire) send(line string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
}

// answer is a message of the server's.
type answer struct {
	ID     any            `json:"id"`
	Method string         `json:"method"`
	Result map[string]any `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (w *wire) answer() answer {
	w.t.Helper()
	line, err := w.out.ReadBytes('\n')
	require.NoError(w.t, err)
	var a answer
	require.NoError(w.t, json.Unmarshal(line, &a), string(line))
	return a
}

func (w *wire) initialize() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Nil(w.t, w.answer().Error)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// Whatever comes is answered with what is wrong with it, and the next message is served.
func TestMessagesThatAreNone(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	for i, c := range []struct {
		send string
		code int
		id   any
		text string
	}{
		{`garbage`, -32700, nil, "no JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700, nil, "no JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, -32700, nil, "no JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}`, -32700, nil, "no JSON"},
		{"\xff\xfe", -32700, nil, "no UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"` + "\xff" + `"}}}`, -32700, nil, "no UTF-8"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"\\\ud83d"}}}`, -32600, 1.0, `\ud83d is half a character`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, nil, "2^53"},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, -32600, 1.0, "version"},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, -32600, 1.0, "no method"},
		{`{"jsonrpc":"2.0","id":1,"ID":2,"method":5}`, -32600, 1.0, "method"},
		{`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<20) + `"}`, -32600, 1.0, "at most 256 bytes"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, -32602, 1.0, "params has to be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, -32602, 1.0, "params is missing"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"code":"seen"},"arguments":{"code":"hidden"}}}`, -32602, 1.0, `params: "arguments" is there twice`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"run_code"}}`, -32600, nil, `"params" is there twice`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, -32602, 1.0, "name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`, -32602, 1.0, "at most 256 bytes"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","_meta":"x"}}`, -32602, 1.0, "_meta"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","_meta":{"progressToken":{}}}}`, -32602, 1.0, "progressToken"},
		{`[]`, -32600, nil, "batch"},
		{"[" + fmt.Sprintf(ping, 1) + "," + fmt.Sprintf(ping, 2) + "]", -32600, nil, "batch"},
		{`5`, -32600, nil, "object"},
		{`"ping"`, -32600, nil, "object"},
		{`null`, -32600, nil, "object"},
		{`{}`, -32600, nil, ""},
		{`{"id":1,"method":"ping"}`, -32600, 1.0, "version"},
		{`{"jsonrpc":"1.0","id":"a","method":"ping"}`, -32600, "a", "version"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, nil, "id"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, nil, "id"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, nil, "id"},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, -32600, 1.0, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"nosuch"}`, -32600, 1.0, "initialization"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, -32600, 1.0, "initialization"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code"}}`, -32600, 1.0, "initialization"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, -32600, 1.0, "nesting"},
	} {
		w := newScene(t, ok).wire(t)
		w.send(c.send)
		a := w.answer()
		require.NotNil(t, a.Error, c.send)
		assert.Equal(t, c.code, a.Error.Code, c.send)
		assert.Equal(t, c.id, a.ID, c.send)
		assert.Contains(t, a.Error.Message, c.text, c.send)
		assert.Less(t, len(a.Error.Message), 500, "what came does not come back")
		w.send(fmt.Sprintf(ping, 100+i))
		a = w.answer()
		assert.Nil(t, a.Error, "it lives on after %s", c.send)
		assert.InDelta(t, 100+i, a.ID, 0)
	}
}

// The same after the handshake, where more can come at the wrong time.
func TestMessagesOutOfOrder(t *testing.T) {
	w := newScene(t, ok).wire(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) // nothing to answer to
	w.send("")
	w.send("\r")
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	a := w.answer()
	assert.Equal(t, "again", a.ID)
	assert.Contains(t, a.Error.Message, "duplicate")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.send(`{"jsonrpc":"2.0","id":77,"result":{}}`) // to a request that there was not
	w.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`)
	w.send(`{"jsonrpc":"2.0","id":78,"error":"x"}`)
	w.send(`{"jsonrpc":"1.0","id":{},"result":{}}`) // answers are not answered
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/nosuch"}`)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"nosuch"}`)
	a = w.answer()
	assert.Equal(t, -32601, a.Error.Code)
	w.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call"}`)
	assert.NotNil(t, w.answer().Error)
	w.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"x"}}}`)
	a = w.answer()
	assert.Nil(t, a.Error)
	assert.InDelta(t, 5, a.ID, 0)
}

// An id that belongs to a request without an answer is refused: to answer it would answer the other.
func TestIDInUse(t *testing.T) {
	running, free := make(chan struct{}), make(chan struct{})
	w := newScene(t, func(fake.Call) fake.Reply {
		close(running)
		<-free
		return fake.Exit(0, "", "")
	}).wire(t)
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"x"}}}`)
	<-running
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	a := w.answer()
	assert.Nil(t, a.ID)
	assert.Equal(t, -32600, a.Error.Code)
	close(free)
	a = w.answer()
	assert.InDelta(t, 1, a.ID, 0)
	assert.NotEmpty(t, a.Result)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	assert.Nil(t, w.answer().Error, "then it is free")
}

// A message may be large, and one that is too large is refused without being kept.
func TestLargeMessages(t *testing.T) {
	s := newScene(t, ok)
	w := s.wire(t)
	w.initialize()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"` + strings.Repeat("x", 7<<20) + `"}}}`
	w.send(call)
	assert.NotEmpty(t, w.answer().Result["structuredContent"])
	w.send(strings.ReplaceAll(call, "xxxxxxx", "xxxxxxxxxxx")) // more than a tool takes: a message for the model
	assert.Equal(t, true, w.answer().Result["isError"])
	part := strings.Repeat("x", 1<<20)
	for range server.MaxMessage>>20 + 1 {
		_, err := io.WriteString(w.in, part)
		require.NoError(t, err)
	}
	w.send("")
	a := w.answer()
	assert.Contains(t, a.Error.Message, "larger than")
	w.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	assert.Nil(t, w.answer().Error)
}

// A last line that is not ended is a message; the end of the input is the end of the client.
func TestEndOfInput(t *testing.T) {
	s := newScene(t, ok)
	in, out := io.Pipe()
	defer in.Close()
	served := make(chan error, 1)
	go func() { served <- s.ServeLines(t.Context(), strings.NewReader(`garbage`), out) }()
	line, err := bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "-32700")
	assert.NoError(t, <-served)
}

// The end of the context is the end of the connection, whatever its client does.
func TestContextEndsConnection(t *testing.T) {
	s := newScene(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	in, toServer := io.Pipe()
	defer toServer.Close()
	served := make(chan error, 1)
	go func() { served <- s.ServeLines(ctx, in, io.Discard) }()
	cancel()
	assert.ErrorIs(t, <-served, context.Canceled)
	s.client(t, nil) // another is served all the same
}
