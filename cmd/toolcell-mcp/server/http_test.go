package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
	"github.com/soulacy/toolcell/test/fake"
)

const token = "a-token-of-the-test"

// site serves a scene over HTTP.
type site struct {
	t   *testing.T
	url string
}

func (s *scene) site(t *testing.T) site {
	t.Helper()
	h := httptest.NewServer(s.Handler(server.Access{Token: token, Origins: []string{"https://page.example"}}))
	t.Cleanup(h.Close)
	return site{t, h.URL + server.Path}
}

// bearer adds the token to requests.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func (s site) client(o *mcp.ClientOptions) *mcp.ClientSession {
	s.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// post sends one message, with headers in pairs that replace the usual ones; "" leaves one out, Host is the request's.
func (s site) post(ctx context.Context, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, err.Error()
	}
	return resp, string(data)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestHTTP(t *testing.T) {
	s := newScene(t, ok).site(t)
	c := s.client(nil)
	id := session(t, call(t, c, "write_file", args{"path": "f", "content": "x"}))
	assert.Equal(t, "x", text(t, call(t, s.client(nil), "read_file", args{"path": "f", "session_id": id})), "a session is no connection's")
	assert.Equal(t, "Exit code: 0\n\n--- stdout ---\nout\n", text(t, call(t, c, "run_code", args{"language": "sh", "code": "x"})))
}

// Who may not is told so, and nothing else.
func TestAccess(t *testing.T) {
	s := newScene(t, ok).site(t)
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), server.Path)
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"right":                  {nil, 200},
		"own origin":             {[]string{"Origin", "http://" + host}, 200},
		"allowed origin":         {[]string{"Origin", "https://page.example"}, 200},
		"scheme in any case":     {[]string{"Authorization", "bearer " + token}, 200},
		"foreign origin":         {[]string{"Origin", "https://evil.example"}, 403},
		"origin with a suffix":   {[]string{"Origin", "https://page.example.evil.example"}, 403},
		"no origin":              {[]string{"Origin", "null"}, 403},
		"another port":           {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"rebound name":           {[]string{"Host", "evil.example"}, 403},
		"rebound, with origin":   {[]string{"Host", "evil.example", "Origin", "http://evil.example"}, 403},
		"no token":               {[]string{"Authorization", ""}, 401},
		"wrong token":            {[]string{"Authorization", "Bearer wrong"}, 401},
		"a part of it":           {[]string{"Authorization", "Bearer " + token[:5]}, 401},
		"an empty one":           {[]string{"Authorization", "Bearer "}, 401},
		"another scheme":         {[]string{"Authorization", "Basic " + token}, 401},
		"what is no JSON":        {[]string{"Content-Type", "text/plain"}, 415},
		"what takes no answer":   {[]string{"Accept", "text/html"}, 400},
		"a version without date": {[]string{"Mcp-Protocol-Version", "x"}, 400},
	} {
		resp, body := s.post(t.Context(), hello, c.headers...)
		require.NotNil(t, resp, body)
		assert.Equal(t, c.status, resp.StatusCode, "%s: %s", name, body)
		if c.status == 401 {
			assert.Equal(t, "Bearer", resp.Header.Get("WWW-Authenticate"))
		}
	}
	resp, err := http.Get(strings.TrimSuffix(s.url, server.Path) + "/other")
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, 401, resp.StatusCode, "nor is anybody told what there is")
}

// Without a token nobody may.
func TestNoToken(t *testing.T) {
	h := httptest.NewServer(newScene(t, ok).Handler(server.Access{}))
	defer h.Close()
	resp, _ := site{t, h.URL + server.Path}.post(t.Context(), hello, "Authorization", "Bearer ")
	assert.Equal(t, 401, resp.StatusCode)
}

// What is no message is refused, and the next one is served.
func TestHTTPMessagesThatAreNone(t *testing.T) {
	s := newScene(t, ok).site(t)
	for _, version := range []string{"", "2025-06-18", "2026-07-28"} {
		for _, body := range []string{
			``, `garbage`, `{`, `{}`, `5`, `[]`, `[` + hello + `,` + hello + `]`, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":1,"method":"nosuch"}`, " \r\n\t[" + hello + "]", strings.Repeat(" ", 1<<20) + "[" + hello + "]", `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
			hello + hello, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":1}`,
		} {
			resp, text := s.post(t.Context(), body, "Mcp-Protocol-Version", version)
			require.NotNil(t, resp, text)
			assert.True(t, resp.StatusCode >= 400 || strings.Contains(text, `"error"`), "%q %.100q: %d %s", version, body, resp.StatusCode, text)
			assert.Less(t, resp.StatusCode, 500, "%.100q", body)
			assert.Less(t, len(text), 1000)
		}
	}
	resp, text := s.post(t.Context(), "{"+strings.Repeat(" ", server.MaxMessage)+hello[1:])
	if resp != nil {
		assert.Equal(t, 413, resp.StatusCode, text)
	}
	call(t, s.client(nil), "run_code", args{"language": "sh", "code": "x"})
}

// An older client's request belongs to the connection that it began, and is refused without one.
func TestHTTPWithoutConnection(t *testing.T) {
	s := newScene(t, ok).site(t)
	for _, method := range []string{"ping", "tools/list", "tools/call"} {
		resp, text := s.post(t.Context(), `{"jsonrpc":"2.0","id":"a","method":"`+method+`","params":{"name":"run_code"}}`)
		assert.Equal(t, 400, resp.StatusCode)
		var a answer
		require.NoError(t, json.Unmarshal([]byte(text), &a), text)
		assert.Equal(t, "a", a.ID)
		assert.Contains(t, a.Error.Message, "send initialize first")
	}
}

// The end of a connection is the end of its calls, and of no other's.
func TestHTTPDelete(t *testing.T) {
	running := make(chan struct{}, 2)
	s := newScene(t, func(fake.Call) fake.Reply {
		running <- struct{}{}
		return fake.Reply{Block: true}
	})
	h := s.site(t)
	call := func(connection string) <-chan struct{} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.post(t.Context(), `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"x"}}}`, connectionHeader, connection)
		}()
		<-running
		return ended
	}
	one, other := h.connect(), h.connect()
	ends, stays := call(one), call(other)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, h.url, nil)
	require.NoError(t, err)
	r.Header.Set(connectionHeader, one)
	resp, err := (&http.Client{Transport: bearer{}}).Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 204, resp.StatusCode)
	<-ends
	select {
	case <-stays:
		assert.Fail(t, "the other connection's call has ended too")
	default:
	}
	require.NoError(t, s.Close())
	<-stays
}

const connectionHeader = "Mcp-Session-Id"

// connect begins an older client's connection.
func (s site) connect() string {
	s.t.Helper()
	resp, text := s.post(s.t.Context(), hello)
	require.Equal(s.t, 200, resp.StatusCode, text)
	id := resp.Header.Get(connectionHeader)
	resp, text = s.post(s.t.Context(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, connectionHeader, id)
	require.Equal(s.t, 202, resp.StatusCode, text)
	return id
}

// newer are the headers and the metadata of a call of the protocol without connections.
func newer(name string, a args) (string, []string) {
	params := args{"name": name, "arguments": a, "_meta": args{
		"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": args{},
	}}
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	if err != nil {
		panic(err)
	}
	return string(body), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name}
}

// A client that goes away in the middle of a call ends it, whichever version of the protocol it speaks; one that sends a
// cancellation, too.
func TestHTTPGoneClient(t *testing.T) {
	running := make(chan struct{}, 1)
	s := newScene(t, func(fake.Call) fake.Reply {
		running <- struct{}{}
		return fake.Reply{Block: true}
	}, func(o *server.Options) { o.Calls = 1 }) // the next call runs when the last one has ended
	h := s.site(t)
	body, headers := newer("run_code", args{"language": "sh", "code": "x"})
	gone := func(body string, headers ...string) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-running
			cancel()
		}()
		resp, _ := h.post(ctx, body, headers...)
		assert.True(t, resp == nil || ctx.Err() != nil)
	}
	gone(body, headers...)

	connection := []string{connectionHeader, h.connect(), "Mcp-Protocol-Version", "2025-06-18"}
	const older = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"sh","code":"x"}}}`
	gone(older, connection...)

	go func() {
		<-running
		resp, text := h.post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`, connection...)
		if assert.NotNil(t, resp, text) {
			assert.Equal(t, 202, resp.StatusCode, text)
		}
	}()
	resp, text := h.post(t.Context(), strings.Replace(older, `"id":5`, `"id":6`, 1), connection...)
	require.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, text, "Execution canceled")
	assert.Len(t, s.backend.Calls(), 3)
}
