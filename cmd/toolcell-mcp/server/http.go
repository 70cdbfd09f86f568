package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

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
		if batch(r) {
			http.Error(w, "Bad Request: a batch is no message of this protocol: send one message a request", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Mcp-Protocol-Version") >= statelessSince {
			newer.ServeHTTP(w, r)
			return
		}
		older.ServeHTTP(w, r)
	})
	return a.guard(s.carriers.carry(mux))
}

// batch reports whether a request's body is an array. Versions of the protocol that nobody needs any more had batches, and
// a request that names no version would be taken for one of theirs.
func batch(r *http.Request) bool {
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	for n := 1; n <= body.Size(); n++ {
		start, err := body.Peek(n)
		if err != nil {
			return false // what is wrong with it, whoever reads it says
		}
		switch start[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return start[n-1] == '['
		}
	}
	return true // nothing that means well begins like this
}

// guard lets pass whoever may.
func (a Access) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	m  map[string]context.Context
}

// carrierHeader connects a call with its request: what the SDK hands over of that is its header.
const carrierHeader = "Toolcell-Request"

func (c *carriers) carry(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := rand.Text()
		r.Header.Set(carrierHeader, name) // whatever the client put there
		c.mu.Lock()
		if c.m == nil {
			c.m = map[string]context.Context{}
		}
		c.m[name] = r.Context()
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.m, name)
		}()
		next.ServeHTTP(w, r)
	})
}

// bind returns a context that also ends with the request that a call came with, if it came with one.
func (c *carriers) bind(ctx context.Context, extra *mcp.RequestExtra) context.Context {
	if extra == nil || extra.Header.Get(carrierHeader) == "" {
		return ctx
	}
	bound, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	request := c.m[extra.Header.Get(carrierHeader)]
	c.mu.Unlock()
	if request == nil { // it has ended meanwhile
		cancel(errGone)
		return bound
	}
	context.AfterFunc(request, func() { cancel(errGone) })
	return bound
}
