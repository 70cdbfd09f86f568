package frame

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func stream(t testing.TB) []byte {
	t.Helper()
	end, err := Encode(Result, &Ending{Cause: CauseOOM, Status: 9})
	require.NoError(t, err)
	var s []byte
	s = Append(s, Started, nil)
	s = Append(s, Stdout, []byte("out"))
	s = Append(s, Stderr, nil)
	s = Append(s, Window, []byte{0, 0, 0, 7})
	s = Append(s, Stderr, bytes.Repeat([]byte("e"), MaxData))
	return append(s, end...)
}

// seen is what a parser handed on, with the pieces of a stream put together.
func seen(data []byte, piece int) (string, *Parser, error) {
	var b strings.Builder
	p := &Parser{Handle: func(t Type, d []byte) error {
		if t != Stdout && t != Stderr {
			b.WriteByte(byte(t))
		}
		b.Write(d)
		return nil
	}}
	for len(data) > 0 {
		n := min(piece, len(data))
		if _, err := p.Write(data[:n]); err != nil {
			return b.String(), p, err
		}
		data = data[n:]
	}
	return b.String(), p, nil
}

// Frames come out the same however the stream is cut.
func TestParserInPieces(t *testing.T) {
	data := stream(t)
	want, p, err := seen(data, len(data))
	require.NoError(t, err)
	assert.False(t, p.Unfinished())
	assert.Contains(t, want, `"cause":"oom"`)
	for piece := 1; piece < 20; piece++ {
		got, _, err := seen(data, piece)
		require.NoError(t, err)
		assert.Equal(t, want, got, "in pieces of %d", piece)
	}
	for cut := range 60 {
		_, p, err := seen(data[:cut], 1000)
		require.NoError(t, err)
		if cut > 0 && cut != 5 && cut != 13 && cut != 18 && cut != 27 {
			assert.True(t, p.Unfinished(), "cut at %d", cut)
		}
	}
}

// What is no frame is an error, and stays one.
func TestParserRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"text": "Error response from daemon", "too long": "O\xff\xff\xff\xff", "window": "W\x00\x00\x00\x05", "started with data": "S\x00\x00\x00\x01x",
	} {
		p := &Parser{Handle: func(Type, []byte) error { return nil }}
		_, err := p.Write([]byte(data))
		require.Error(t, err, name)
		_, err = p.Write(Append(nil, Started, nil))
		require.Error(t, err, name)
		assert.True(t, p.Unfinished())
	}
}

func TestRead(t *testing.T) {
	call := &Call{Argv: [][]byte{[]byte("a\xff")}, Env: [][]byte{[]byte("A=\n")}}
	data, err := Encode(Request, call)
	require.NoError(t, err)
	typ, body, err := Read(iotest.OneByteReader(bytes.NewReader(data)), make([]byte, 3))
	require.NoError(t, err)
	assert.Equal(t, Request, typ)
	var got Call
	require.NoError(t, Decode(body, &got))
	assert.Equal(t, *call, got)
	_, _, err = Read(bytes.NewReader(data[:len(data)-1]), nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, _, err = Read(bytes.NewReader(nil), nil)
	require.ErrorIs(t, err, io.EOF)
	_, err = Encode(Fault, &Failure{Text: strings.Repeat("x", maxMessage)})
	assert.Error(t, err)
}

func FuzzParser(f *testing.F) {
	f.Add(stream(f), 3)
	f.Add([]byte("O\x00\x00\x00\x02hi"), 1)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		if piece < 1 {
			return
		}
		whole, p, err := seen(data, len(data)+1)
		parts, q, partsErr := seen(data, piece)
		if err == nil {
			require.NoError(t, partsErr)
			assert.Equal(t, whole, parts)
			assert.Equal(t, p.Unfinished(), q.Unfinished())
		} else {
			require.Error(t, partsErr)
		}
	})
}
