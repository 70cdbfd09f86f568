package docker

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// dial is one long-lived command of docker's, `system dial-stdio`, whose input and output are a connection to the engine
// that the command line has chosen. It answers the one question of every call, what has been made, without the start of
// another command. Whatever is wrong with it, the question is asked by a command of its own.
type dial struct {
	stop context.CancelFunc

	mu   sync.Mutex
	in   io.WriteCloser
	out  *bufio.Reader
	dead error
}

// startDial starts the command.
func startDial(c Client) *dial {
	ctx, stop := context.WithCancel(context.Background())
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	go func() {
		_, err := c.Run(ctx, Invocation{Args: []string{"system", "dial-stdio"}, Stdin: inRead, Stdout: outWrite})
		if err == nil {
			err = io.EOF
		}
		inRead.CloseWithError(err)
		outWrite.CloseWithError(err)
	}()
	return &dial{stop: stop, in: inWrite, out: bufio.NewReader(outRead)}
}

// close ends the command.
func (d *dial) close() {
	if d != nil {
		d.stop()
	}
}

// inspect returns what `container inspect` would. Names are letters, digits and dashes.
func (d *dial) inspect(ctx context.Context, name string) ([]byte, error) {
	return d.ask(ctx, "/containers/"+name+"/json")
}

// image returns what `image inspect` would, for a name of which nothing would be quoted in a path.
func (d *dial) image(ctx context.Context, name string) ([]byte, error) {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:@", r)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return nil, fmt.Errorf("%q is not written in a path as it is", name)
	}
	return d.ask(ctx, "/images/"+name+"/json")
}

// ask returns the engine's answer as a list, as its command prints it. A path without a version is the engine's own newest.
func (d *dial) ask(ctx context.Context, path string) ([]byte, error) {
	if d == nil {
		return nil, errors.New("no connection")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead != nil {
		return nil, d.dead
	}
	undo := context.AfterFunc(ctx, d.stop) // an answer that does not come ends the command
	defer undo()
	_, err := fmt.Fprintf(d.in, "GET %s HTTP/1.1\r\nHost: engine\r\n\r\n", path)
	if err != nil {
		d.dead = err
		return nil, err
	}
	status, body, err := readResponse(d.out)
	if err != nil {
		d.dead = err
		return nil, err
	}
	if status != "200" {
		return nil, fmt.Errorf("the engine answers %s", status)
	}
	return slicesOf(body), nil
}

// slicesOf makes a list of one, as the command prints it.
func slicesOf(body []byte) []byte { return append(append([]byte("["), body...), ']') }

// maxAnswer bounds an answer: a container's description is some tens of kilobytes.
const maxAnswer = 16 << 20

// readResponse reads one response of HTTP/1.1 whose body is chunked or has a length (RFC 9112). That is all that an
// engine sends here, and a whole client would make every program of this module larger.
func readResponse(r *bufio.Reader) (status string, body []byte, err error) {
	line, err := readLine(r)
	if err != nil {
		return "", nil, err
	}
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[0] != "HTTP/1.1" {
		return "", nil, fmt.Errorf("%q is no answer of HTTP/1.1", line)
	}
	length, chunked := int64(-1), false
	for {
		line, err := readLine(r)
		if err != nil {
			return "", nil, err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); {
		case strings.EqualFold(name, "Content-Length"):
			length, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return "", nil, fmt.Errorf("a length of %q: %w", value, err)
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			chunked = strings.EqualFold(value, "chunked")
		}
	}
	body, err = readBody(r, length, chunked)
	return fields[1], body, err
}

func readBody(r *bufio.Reader, length int64, chunked bool) ([]byte, error) {
	var body bytes.Buffer
	if !chunked {
		if length < 0 || length > maxAnswer {
			return nil, fmt.Errorf("an answer of %d bytes", length)
		}
		_, err := io.CopyN(&body, r, length)
		return body.Bytes(), err
	}
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 64)
		if err != nil || n < 0 || int64(body.Len())+n > maxAnswer {
			return nil, fmt.Errorf("a chunk of %q bytes", size)
		}
		if _, err := io.CopyN(&body, r, n); err != nil {
			return nil, err
		}
		if end, err := readLine(r); err != nil || end != "" {
			return nil, fmt.Errorf("a chunk that ends with %q: %w", end, cmp.Or(err, errors.New("not a line's end")))
		}
		if n == 0 {
			return body.Bytes(), nil
		}
	}
}

// readLine reads a line of at most a buffer's size.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
