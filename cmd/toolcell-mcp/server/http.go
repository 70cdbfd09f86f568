package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where the HTTP handler serves.
const Path = "/mcp"

// statelessSince is the first version of the protocol without sessions of its own: there every request stands alone. Older
// clients have to name the connection that they began, or could cancel nothing.
const statelessSince = "2026-07-28"

// Access says who may speak to the server over HTTP.
type Access struct {
	// Token is what a client has to present as its bearer token. "" refuses everybody.
	Token string
	// Origins are the origins of web pages that may; without one, no page of another origin than the server's own may.
	Origins []string
	// AnyHost lets requests name the server by any host name. Otherwise one that reaches a loopback address has to name
	// such a one, or a page could reach it under a name of its own.
	AnyHost bool
}

// Handler serves the protocol's streamable HTTP transport at Path.
func (s *Server) Handler(a Access) http.Handler {
	one := func(*http.Request) *mcp.Server { return s.mcp }
	common := mcp.StreamableHTTPOptions{
		Logger: quiet(s.options.Logger), MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: a.AnyHost,
	}
	alone, connected := common, common
	alone.Stateless, alone.PropagateRequestCancellation = true, true
	connected.SessionTimeout = s.options.Idle
	newer, older := mcp.NewStreamableHTTPHandler(one, &alone), mcp.NewStreamableHTTPHandler(one, &connected)
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		isNewer := r.Header.Get("Mcp-Protocol-Version") >= statelessSince
		if r.Method == http.MethodPost {
			if status, refused := s.admit(w, r, isNewer); refused != nil {
				tell(w, status, refused)
				return
			}
		}
		if isNewer {
			newer.ServeHTTP(w, r)
			return
		}
		older.ServeHTTP(w, r)
	})
	return a.guard(s.carriers.carry(mux))
}

// bodyTime is how long a request's body may take to arrive. Nothing bounds how long the answer may.
const bodyTime = time.Minute

// maxConnections is how many connections older clients may have begun and not ended. The one that a client forgets costs
// little, and lasts as long as a session that is not used.
const maxConnections = 4096

// connectionHeader names a connection of an older client.
const connectionHeader = "Mcp-Session-Id"

// admit reads a request's message and checks what the SDK would answer in words of its own, or not at all. Whoever serves
// the request finds the body as it was.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, isNewer bool) (status int, refused *refusal) {
	control := http.NewResponseController(w)
	// Where there is no such deadline, what is wrong with the body shows as it is read.
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, refuse(nil, jsonrpc.CodeInvalidRequest, errTooLong.Error())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout, refuse(nil, jsonrpc.CodeInvalidRequest, "the message did not arrive within "+bodyTime.String())
	case err != nil:
		return http.StatusBadRequest, refuse(nil, jsonrpc.CodeInvalidRequest, "the message did not arrive whole")
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	msg, refused := decode(body)
	if refused != nil {
		return http.StatusBadRequest, refused
	}
	if req, ok := msg.(*jsonrpc.Request); ok && !isNewer {
		return s.connected(r, req)
	}
	return 0, nil
}

// connected refuses an older client's request that belongs to no connection, and a connection too many.
func (s *Server) connected(r *http.Request, req *jsonrpc.Request) (status int, refused *refusal) {
	id, err := json.Marshal(req.ID.Raw())
	if err != nil || !req.IsCall() {
		id = nil
	}
	switch req.Method {
	case "initialize":
		n := 0
		for range s.mcp.Sessions() {
			n++
		}
		if n >= maxConnections {
			return http.StatusServiceUnavailable, refuse(id, jsonrpc.CodeInternalError,
				fmt.Sprintf("there are %d connections already: end those that are not used, with DELETE", n))
		}
	case "server/discover": // which asks what to speak
	default:
		if r.Header.Get(connectionHeader) == "" {
			return http.StatusBadRequest, refuse(id, jsonrpc.CodeInvalidRequest,
				connectionHeader+" is missing: send initialize first, and the header of its answer with every other message")
		}
	}
	return 0, nil
}

// tell answers with a refusal.
func tell(w http.ResponseWriter, status int, r *refusal) {
	data, err := json.Marshal(r)
	if err != nil {
		http.Error(w, r.err.Message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // whoever does not take it has gone
}

// guard lets pass whoever may.
func (a Access) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody { // what is left of it is read before the next request, whatever the answer was
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		}
		switch {
		case !a.fromHere(r):
			http.Error(w, "Forbidden: pages of this origin may not use this server", http.StatusForbidden)
		case !a.holds(r.Header.Get("Authorization")):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "Unauthorized: the bearer token is missing or wrong", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// fromHere reports whether no web page sent the request, or one that may.
func (a Access) fromHere(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && (slices.Contains(a.Origins, origins[0]) || origins[0] == "http://"+r.Host)
}

// holds reports whether an Authorization header has the token, in a time that tells nothing about it.
func (a Access) holds(header string) bool {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || a.Token == "" {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(a.Token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// carriers are the HTTP requests that calls came with. A request ends when its client goes away, and the call with it; the
// SDK keeps the two apart for older versions of the protocol, where another request could fetch the result. Here none can.
type carriers struct {
	mu sync.Mutex
	m  map[string]carrier
}

// carrier is a request.
type carrier struct {
	ctx        context.Context
	end        context.CancelFunc
	connection string
}

// carrierHeader connects a call with its request: what the SDK hands over of that is its header.
const carrierHeader = "Toolcell-Request"

func (c *carriers) carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, connection := rand.Text(), r.Header.Get(connectionHeader)
		if r.Method == http.MethodDelete && connection != "" {
			c.end(connection) // or the end of the connection would wait for them
		}
		ctx, end := context.WithCancel(r.Context())
		defer end()
		r = r.WithContext(ctx)
		r.Header.Set(carrierHeader, name) // whatever the client put there
		c.mu.Lock()
		if c.m == nil {
			c.m = map[string]carrier{}
		}
		c.m[name] = carrier{ctx, end, connection}
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.m, name)
		}()
		next.ServeHTTP(w, r)
	})
}

// end ends the requests of a connection.
func (c *carriers) end(connection string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, request := range c.m {
		if request.connection == connection {
			request.end()
		}
	}
}

// bind returns a context that also ends with the request that a call came with, if it came with one.
func (c *carriers) bind(ctx context.Context, extra *mcp.RequestExtra) context.Context {
	if extra == nil || extra.Header.Get(carrierHeader) == "" {
		return ctx
	}
	bound, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	request, ok := c.m[extra.Header.Get(carrierHeader)]
	c.mu.Unlock()
	if !ok { // it has ended meanwhile
		cancel(errGone)
		return bound
	}
	context.AfterFunc(request.ctx, func() { cancel(errGone) })
	return bound
}
