package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/soulacy/toolcell/cmd/toolcell-mcp/server"
)

// tokenVariable holds the bearer token; it has no flag, since everybody sees command lines.
const tokenVariable = "TOOLCELL_MCP_TOKEN"

// minToken is how long a token has to be that somebody else made.
const minToken = 16

// httpFlags say how to serve over HTTP.
type httpFlags struct {
	listen, tokenFile string
	origins           []string
	remote            bool
}

func (h *httpFlags) add(f *pflag.FlagSet) {
	f.StringVar(&h.listen, "listen", "", "serve over HTTP on this address (127.0.0.1:8931), at "+server.Path)
	f.StringVar(&h.tokenFile, "token-file", "", "the file that holds the bearer token (default: "+tokenVariable+", or a new one, which is printed)")
	f.StringArrayVar(&h.origins, "allow-origin", nil, "let web pages of this origin use the server")
	f.BoolVar(&h.remote, "allow-remote", false, "let --listen name an address that other machines reach; nothing is encrypted")
}

// check returns what to serve on; nil is stdin and stdout.
func (h *httpFlags) check(lookupEnv func(string) (string, bool)) (*listener, error) {
	if h.listen == "" {
		if h.tokenFile != "" || len(h.origins) > 0 || h.remote {
			return nil, misused(errors.New("--token-file, --allow-origin and --allow-remote belong to --listen"))
		}
		return nil, nil
	}
	host, _, err := net.SplitHostPort(h.listen)
	if err != nil {
		return nil, misused(fmt.Errorf("--listen: %w", err))
	}
	l := &listener{address: h.listen, access: server.Access{Origins: h.origins, AnyHost: h.remote}}
	if ip := net.ParseIP(host); !h.remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, misused(fmt.Errorf("--listen: %q is not this machine alone; --allow-remote lets others in", host))
	}
	if l.access.Token, err = h.token(lookupEnv); err != nil {
		return nil, err
	}
	if l.access.Token == "" && h.remote {
		return nil, misused(errors.New("--allow-remote: give it a token, by " + tokenVariable + " or --token-file"))
	}
	if l.access.Token == "" {
		l.access.Token, l.made = rand.Text(), true
	}
	return l, nil
}

// token is the one that was given, or "".
func (h *httpFlags) token(lookupEnv func(string) (string, bool)) (string, error) {
	token, _ := lookupEnv(tokenVariable)
	where := tokenVariable
	if h.tokenFile != "" {
		where = "--token-file"
		var err error
		if token, err = readToken(h.tokenFile); err != nil {
			return "", err
		}
	}
	if token != "" && len(token) < minToken {
		return "", misused(fmt.Errorf("%s: a token has at least %d characters", where, minToken))
	}
	return token, nil
}

// listener serves over HTTP.
type listener struct {
	address string
	access  server.Access
	made    bool // the token is a new one
}

// serve serves until the context ends.
func (l *listener) serve(ctx context.Context, s *server.Server, stderr io.Writer) error {
	socket, err := net.Listen("tcp", l.address)
	if err != nil {
		return misused(fmt.Errorf("--listen: %w", err))
	}
	h := &http.Server{
		Handler: s.Handler(l.access), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	fmt.Fprintf(stderr, "toolcell: serving on http://%s%s\n", socket.Addr(), server.Path)
	if l.made {
		fmt.Fprintf(stderr, "toolcell: the bearer token is %s\n", l.access.Token)
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(socket) }()
	select {
	case err = <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Calls end with their connections, which end here; what they were answered nobody waits for.
	if err := h.Close(); err != nil {
		return fmt.Errorf("stop serving: %w", err)
	}
	<-done
	return nil
}
