package server

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/soulacy/toolcell/sandbox/tools"
)

const (
	// progressEvery is how often a client that asked for it hears of a program that runs.
	progressEvery = time.Second
	// progressLine is how much of a line of output it gets to see, in bytes.
	progressLine = 200
)

// progress tells a client that a program is running, and the last line that it printed. The nil progress tells nobody.
type progress struct {
	session *mcp.ServerSession
	token   any
	begun   time.Time
	end     context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	line []byte // the beginning of the last line
	open bool   // the line is not complete, and goes on with the next write
}

// newProgress begins to tell, if the client asked for it.
func newProgress(ctx context.Context, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return nil
	}
	p := &progress{session: req.Session, token: token, begun: time.Now(), ended: make(chan struct{})}
	ctx, p.end = context.WithCancel(ctx)
	go p.run(ctx)
	return p
}

// stop ends the telling, so that none comes after the result.
func (p *progress) stop() {
	if p != nil {
		p.end()
		<-p.ended
	}
}

// streams are the taps on a program's output.
func (p *progress) streams() tools.Streams {
	if p == nil {
		return tools.Streams{}
	}
	return tools.Streams{Stdout: p, Stderr: p}
}

func (p *progress) run(ctx context.Context) {
	defer close(p.ended)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// A client that cannot be told anything will not get the result either, and the call learns it from the transport.
		_ = p.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: p.token, Progress: time.Since(p.begun).Seconds(), Message: p.message(),
		})
	}
}

// message is the last line, made harmless: a client may show it on a terminal.
func (p *progress) message() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(p.line), "\uFFFD"))
	if s = strings.TrimSpace(s); s == "" {
		return "running"
	}
	return s
}

// Write implements [io.Writer] for a program's output. It keeps the last line that says something.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimSpace(line)) > 0 {
			if !p.open {
				p.line = p.line[:0]
			}
			p.line = append(p.line, line[:min(len(line), max(0, progressLine-len(p.line)))]...)
			p.open = true
		}
		if ended {
			p.open = false
		}
		rest = after
	}
	return len(b), nil
}
