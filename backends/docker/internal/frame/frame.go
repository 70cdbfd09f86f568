// Package frame is the protocol between the backend and its init inside a container. Both directions of the container's
// standard streams carry frames: a type, a length, that many bytes. The program inside holds pipes of init's, never these
// streams, so it can neither read a request nor forge a result.
//
//	to init:    Here, any number of times; Request, then any of Input, InputEnd, Kill; last Done; the end of the stream means that the caller is gone
//	from init:  Here, and again for each; Started or Fault; then any of Stdout, Stderr, Window, InputClosed; last a Result
//
// After a Fault, and after the Result of a call with input, init stays until it has read Done, so that nothing is on its way
// when the container ends. Engines may lose what is: podman's conmon talks to its client over a socket, whose closing with input that nobody has read is an
// error at the other end, before the output that waits there (Linux, net/unix/af_unix.c,
// unix_release_sock and __skb_try_recv_datagram).
//
// # Limitations
//
// The protocol authenticates nobody: whoever holds the container engine's socket can speak it.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Type says what a frame holds.
type Type byte

// The types.
const (
	// Request holds a [Call] and begins it.
	Request Type = 'Q'
	// Input holds bytes of the program's standard input, at most [InputWindow] of them on their way.
	Input Type = 'I'
	// InputEnd is the end of the input.
	InputEnd Type = 'Z'
	// Kill ends the call now.
	Kill Type = 'K'
	// Done says that the caller has the Result of a call with input, or the Fault, and sends nothing more.
	Done Type = 'D'
	// Here says that init waits for its request; sent to init it asks for that.
	Here Type = 'H'
	// Started says that the program runs.
	Started Type = 'S'
	// Stdout and Stderr hold what the program wrote.
	Stdout Type = 'O'
	Stderr Type = 'E'
	// Window holds a big-endian uint32: so many bytes of input have been taken.
	Window Type = 'W'
	// InputClosed says that nobody reads the input any more.
	InputClosed Type = 'X'
	// Fault holds a [Failure]: the program was not started.
	Fault Type = 'F'
	// Result holds an [Ending]. Nothing follows it.
	Result Type = 'R'
)

const (
	// HeaderSize is the length of a frame's header.
	HeaderSize = 5
	// MaxData is the most that an Input, Stdout or Stderr frame holds.
	MaxData = 32 << 10
	// InputWindow is how much input may be on its way: init keeps it while the program does not read, and so always
	// reads on and sees a Kill.
	InputWindow = 256 << 10
	// maxRequest bounds a Request: arguments and environment of a megabyte, in base64, with room for the rest.
	maxRequest = 4 << 20
	// maxMessage bounds every other frame.
	maxMessage = 64 << 10
)

func limit(t Type) int {
	switch t {
	case Request:
		return maxRequest
	case Input, Stdout, Stderr:
		return MaxData
	case InputEnd, Kill, Done, Here, Started, InputClosed:
		return 0
	case Window:
		return 4
	case Fault, Result:
		return maxMessage
	default:
		return -1
	}
}

// PutHeader writes the header of a frame with n bytes into the first HeaderSize bytes of buf.
func PutHeader(buf []byte, t Type, n int) {
	buf[0] = byte(t)
	binary.BigEndian.PutUint32(buf[1:HeaderSize], uint32(n))
}

// Append appends a whole frame to buf.
func Append(buf []byte, t Type, data []byte) []byte {
	var header [HeaderSize]byte
	PutHeader(header[:], t, len(data))
	return append(append(buf, header[:]...), data...)
}

// Encode returns a frame that holds v as JSON.
func Encode(t Type, v Message) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a frame: %w", err)
	}
	if len(data) > limit(t) {
		return nil, fmt.Errorf("encode a frame: %d bytes, more than %d", len(data), limit(t))
	}
	return Append(nil, t, data), nil
}

// Decode reads the JSON of a frame into v.
func Decode(data []byte, v Message) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode a frame: %w", err)
	}
	return nil
}

func readHeader(header []byte) (Type, int, error) {
	t, n := Type(header[0]), binary.BigEndian.Uint32(header[1:HeaderSize])
	if most := limit(t); most < 0 || n > uint32(most) {
		return 0, 0, fmt.Errorf("no frame begins with % x", header[:HeaderSize])
	}
	return t, int(n), nil
}

// Read reads one frame. The data is in buf when it fits there. io.EOF means that the stream ended between two frames.
func Read(r io.Reader, buf []byte) (Type, []byte, error) {
	var header [HeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	t, n, err := readHeader(header[:])
	if err != nil {
		return 0, nil, err
	}
	if n > len(buf) {
		buf = make([]byte, n)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return t, buf[:n], nil
}

// Parser is an io.Writer that cuts a stream into frames. Data of Stdout and Stderr frames is handed on as it comes, in
// pieces; every other frame whole. What is handed on is valid during the call alone.
type Parser struct {
	// Handle takes a frame, or a piece of one. Its error ends the parsing.
	Handle func(t Type, data []byte) error

	buf  []byte // an unfinished header or message
	t    Type
	left int // bytes of a data frame that are still to come
	err  error
}

// Write implements io.Writer. Once it has failed it always does.
func (p *Parser) Write(data []byte) (int, error) {
	total := len(data)
	for len(data) > 0 && p.err == nil {
		data, p.err = p.step(data)
	}
	if p.err != nil {
		return 0, p.err
	}
	return total, nil
}

// Unfinished reports whether the stream has ended within a frame, or broke.
func (p *Parser) Unfinished() bool { return p.err != nil || p.left > 0 || len(p.buf) > 0 }

// step uses up a part of data and returns the rest.
func (p *Parser) step(data []byte) ([]byte, error) {
	if p.left > 0 {
		n := min(p.left, len(data))
		p.left -= n
		return data[n:], p.Handle(p.t, data[:n])
	}
	data = p.fill(data, HeaderSize)
	if len(p.buf) < HeaderSize {
		return data, nil
	}
	t, n, err := readHeader(p.buf)
	if err != nil {
		return nil, err
	}
	if t == Stdout || t == Stderr {
		p.t, p.left, p.buf = t, n, p.buf[:0]
		return data, nil
	}
	data = p.fill(data, HeaderSize+n)
	if len(p.buf) < HeaderSize+n {
		return data, nil
	}
	err = p.Handle(t, p.buf[HeaderSize:])
	p.buf = p.buf[:0]
	return data, err
}

// fill moves bytes from data until the buffer holds n, and returns the rest.
func (p *Parser) fill(data []byte, n int) []byte {
	k := min(max(0, n-len(p.buf)), len(data))
	p.buf = append(p.buf, data[:k]...)
	return data[k:]
}
