package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeLines serves one client, which sends a message a line on in and gets the answers on out, until in ends or ctx does.
// The end of in is the end of the client: calls that are under way end with it, and what it does not take of the answers
// soon after is nobody's. Where a read of in or a write to out does not end, a goroutine stays in it.
//
// What is no message, or none that may come now, is answered with an error, and the client is served on.
func (s *Server) ServeLines(ctx context.Context, in io.Reader, out io.Writer) error {
	t := &lines{conn: newLineConn(in, out, s.options.Logger)}
	defer t.conn.Close()
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	// To the SDK, a connection that was closed is a client that went away.
	defer context.AfterFunc(ctx, func() { _ = t.conn.Close() })()
	err = session.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errUntaken):
		return fmt.Errorf("serve: %w", err)
	default:
		return nil
	}
}

// lines is a transport of a message a line, as the protocol's stdio transport is. In place of the SDK's own, which ends
// with the first line that is no message.
type lines struct{ conn *lineConn }

// Connect implements [mcp.Transport].
func (t *lines) Connect(context.Context) (mcp.Connection, error) { return t.conn, nil }

func newLineConn(in io.Reader, out io.Writer, logger *slog.Logger) *lineConn {
	c := &lineConn{
		logger: logger, in: make(chan line), out: make(chan []byte), wrote: make(chan error),
		closed: make(chan struct{}), live: map[jsonrpc.ID]bool{}, last: lastAnswers,
	}
	go c.scan(bufio.NewReaderSize(in, 64<<10))
	go c.print(out)
	return c
}

// line is a line that was read, or the error in its place.
type line struct {
	data []byte
	err  error
}

type lineConn struct {
	logger *slog.Logger
	in     chan line
	out    chan []byte
	wrote  chan error // what became of the last one of out
	last   time.Duration
	once   sync.Once
	closed chan struct{}

	writing sync.Mutex // one message at a time goes out
	mu      sync.Mutex
	live    map[jsonrpc.ID]bool // the requests that have no answer yet
}

// lastAnswers is how long a client may take to read the answers after it has ended its input.
const lastAnswers = 10 * time.Second

// errUntaken is why an answer was not written.
var errUntaken = errors.New("the connection is closed, or nobody reads")

// errTooLong is the place of a line that is larger than MaxMessage.
var errTooLong = fmt.Errorf("the message is larger than %d bytes", MaxMessage)

// scan reads lines until there is no more or nobody wants them. It stays in a read that does not end; its process does.
func (c *lineConn) scan(r *bufio.Reader) {
	for {
		data, err := readLine(r)
		if len(bytes.TrimSpace(data)) > 0 || err != nil {
			select {
			case c.in <- line{data, err}:
			case <-c.closed:
				return
			}
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

// print writes what is to go out. It stays in a write that does not end; its process does.
func (c *lineConn) print(w io.Writer) {
	for {
		select {
		case <-c.closed:
			return
		case data := <-c.out:
			_, err := w.Write(data)
			select {
			case c.wrote <- err:
			case <-c.closed:
				return
			}
		}
	}
}

// put hands a message to print, and waits until it is written or the connection is closed.
func (c *lineConn) put(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	select {
	case c.out <- append(data, '\n'):
	case <-c.closed:
		return errUntaken
	}
	select {
	case err := <-c.wrote:
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
			return errUntaken
		}
		return err
	case <-c.closed:
		return errUntaken
	}
}

// readLine reads one line. Of one that is too long nothing is kept. A last line need not be ended; the error comes after it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var data []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(data)+len(part) > MaxMessage {
			data, long = nil, true
		}
		if !long {
			data = append(data, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(data) > 0 && errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		case long:
			return nil, errTooLong
		default:
			return data, nil
		}
	}
}

// SessionID implements [mcp.Connection]: there is nothing to tell apart.
func (c *lineConn) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read implements [mcp.Connection]: the next message. What is none is answered at once.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l = <-c.in:
		}
		if l.err != nil && !errors.Is(l.err, errTooLong) {
			time.AfterFunc(c.last, func() { _ = c.Close() })
			return nil, l.err
		}
		msg, refusal := c.accept(l)
		if refusal == nil {
			return msg, nil
		}
		c.logger.Warn("a message was refused", "err", refusal.err.Message)
		if refusal.silent {
			continue
		}
		if err := c.send(refusal); err != nil {
			return nil, err
		}
	}
}

// accept decodes a message and checks what the SDK would drop without an answer.
func (c *lineConn) accept(l line) (jsonrpc.Message, *refusal) {
	if l.err != nil {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, l.err.Error())
	}
	msg, refusal := decode(l.data)
	if refusal != nil {
		return nil, refusal
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return msg, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live[req.ID] {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the id %v belongs to a request that has no answer yet", req.ID.Raw()))
	}
	c.live[req.ID] = true
	return msg, nil
}

// Write implements [mcp.Connection].
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if ok {
		msg = coded(resp)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	if ok {
		c.mu.Lock()
		delete(c.live, resp.ID)
		c.mu.Unlock()
	}
	return c.put(data)
}

// coded gives an error that has no code of the protocol the general one: what came may not come now.
func coded(r *jsonrpc.Response) *jsonrpc.Response {
	var e *jsonrpc.Error
	if r.Error == nil || errors.As(r.Error, &e) && e.Code != 0 {
		return r
	}
	return &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: cut(r.Error.Error())}}
}

// send writes a refusal.
func (c *lineConn) send(r *refusal) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.put(data)
}
