//go:build unix

package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/soulacy/toolcell/sandbox"
)

// large is what the stream tests move: more than any pipe holds.
const large = 100 << 20

// output: two streams of bytes, capped and counted.
func (e *env) output(t *testing.T) {
	t.Run("separate", func(t *testing.T) {
		res := e.run(t, e.profile(), sh("echo out; echo err >&2"))
		assert.Equal(t, "out\n", string(res.Stdout))
		assert.Equal(t, "err\n", string(res.Stderr))
		assert.EqualValues(t, 4, res.StdoutBytes)
		assert.EqualValues(t, 4, res.StderrBytes)
	})
	t.Run("bytes preserved", func(t *testing.T) {
		res := e.run(t, e.profile(), sh(`printf 'a\000b\377\376\033[31m\r\n'; printf '\200\000' >&2`))
		assert.Equal(t, "a\x00b\xff\xfe\x1b[31m\r\n", string(res.Stdout))
		assert.Equal(t, "\x80\x00", string(res.Stderr))
	})
	t.Run("long line", func(t *testing.T) {
		res := e.run(t, e.profile(), sh("head -c 204800 /dev/zero | tr '\\0' x; head -c 102400 /dev/zero | tr '\\0' y >&2"))
		assert.Equal(t, strings.Repeat("x", 204800), string(res.Stdout))
		assert.Equal(t, strings.Repeat("y", 102400), string(res.Stderr))
	})
	t.Run("cap", e.outputCap)
	t.Run("endless", e.outputEndless)
	t.Run("taps", e.outputTaps)
	t.Run("writer that fails", func(t *testing.T) {
		c := sh("head -c 1000000 /dev/zero; echo done >&2; exit 5")
		c.Stdout = failingWriter{}
		res := e.run(t, e.profile(), c)
		assert.Equal(t, 5, res.ExitCode)
		assert.Equal(t, "done\n", string(res.Stderr))
	})
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// outputCap: what is over the cap is counted, marked and dropped, and the program does not notice.
func (e *env) outputCap(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.OutputKB = 1 })
	for name, size := range map[string]int{"under": 1023, "exact": 1024, "over": 1025, "far over": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			res := e.run(t, p, sh(fmt.Sprintf("head -c %d /dev/zero; head -c %d /dev/zero >&2; exit 3", size, size)))
			assert.Equal(t, 3, res.ExitCode)
			for _, s := range []struct {
				kept      []byte
				total     int64
				truncated bool
			}{{res.Stdout, res.StdoutBytes, res.StdoutTruncated}, {res.Stderr, res.StderrBytes, res.StderrTruncated}} {
				assert.Len(t, s.kept, min(size, 1024))
				assert.EqualValues(t, size, s.total)
				assert.Equal(t, size > 1024, s.truncated)
			}
		})
	}
}

// outputEndless: a flood ends at the deadline and costs the caller no memory.
func (e *env) outputEndless(t *testing.T) {
	p := e.with(func(p *sandbox.ContainerProfile) { p.Limits.OutputKB, p.Limits.Wall = 64, 2*time.Second })
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res := e.run(t, p, sandbox.Command{Argv: []string{"yes"}})
	runtime.ReadMemStats(&after)
	assert.Equal(t, sandbox.StatusTimeout, res.Status)
	assert.Len(t, res.Stdout, 64<<10)
	assert.True(t, res.StdoutTruncated)
	assert.Greater(t, res.StdoutBytes, int64(1<<20))
	// TotalAlloc grows with every allocation, freed or not: it bounds the peak whatever the collector did.
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "%d bytes were written", res.StdoutBytes)
}

// outputTaps: the caller's writers get the output while the program runs, up to the cap.
func (e *env) outputTaps(t *testing.T) {
	in, feed := io.Pipe()
	out, errs := newTap("one\n"), newTap("two\n")
	c := sh("echo one; read a; echo two >&2; read b; echo $a$b")
	c.Stdin, c.Stdout, c.Stderr = in, out, errs
	done, _ := e.background(t, e.profile(), c)
	out.await(t, done)
	_, err := feed.Write([]byte("x\n"))
	require.NoError(t, err)
	errs.await(t, done)
	_, err = feed.Write([]byte("y\n"))
	require.NoError(t, err)
	require.NoError(t, feed.Close())
	o := <-done
	require.NoError(t, o.err)
	assert.Equal(t, sandbox.StatusExited, o.res.Status)
	assert.Equal(t, "one\nxy\n", out.String())
	assert.Equal(t, "one\nxy\n", string(o.res.Stdout))
	assert.Equal(t, "two\n", errs.String())
}

// stdin: any size, at the same time as the output, and nobody has to read it.
func (e *env) stdin(t *testing.T) {
	t.Run("nil is empty", func(t *testing.T) {
		assert.Equal(t, "0\n", strings.TrimLeft(e.ok(t, e.profile(), sh("wc -c")), " "))
		assert.Equal(t, "end\n", e.ok(t, e.profile(), sh("cat; cat /dev/stdin; cat /dev/fd/0; cat /proc/self/fd/0; echo end")))
	})
	t.Run("small", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"cat"}, Stdin: strings.NewReader("a\x00\xffb")}
		assert.Equal(t, "a\x00\xffb", e.ok(t, e.profile(), c))
	})
	t.Run("large, whole", func(t *testing.T) {
		block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		h := sha256.New()
		var readers []io.Reader
		for range large / len(block) {
			h.Write(block)
			readers = append(readers, bytes.NewReader(block))
		}
		c := sandbox.Command{Argv: e.probe("sum"), Stdin: io.MultiReader(readers...)}
		assert.Equal(t, fmt.Sprintln(large, hex.EncodeToString(h.Sum(nil))), e.ok(t, e.profile(), c))
	})
	t.Run("large, through cat", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"cat"}, Stdin: io.LimitReader(zeros{}, large)}
		res := e.run(t, e.profile(), c)
		assert.Equal(t, sandbox.StatusExited, res.Status)
		assert.EqualValues(t, large, res.StdoutBytes)
		assert.True(t, res.StdoutTruncated)
	})
	t.Run("large, unread", func(t *testing.T) {
		for _, argv := range [][]string{{"head", "-c", "1"}, {"true"}} {
			c := sandbox.Command{Argv: argv, Stdin: io.LimitReader(zeros{}, large)}
			res := e.run(t, e.profile(), c)
			assert.Equal(t, sandbox.StatusExited, res.Status)
			assert.Zero(t, res.ExitCode)
		}
	})
	t.Run("endless", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"head", "-c", "3"}, Stdin: zeros{}}
		assert.Equal(t, "\x00\x00\x00", e.ok(t, e.profile(), c))
	})
	t.Run("never closed by the caller", func(t *testing.T) {
		in, feed := io.Pipe()
		defer feed.Close()
		assert.Equal(t, "hi\n", e.ok(t, e.profile(), sandbox.Command{Argv: []string{"echo", "hi"}, Stdin: in}))
	})
	t.Run("reader that fails", func(t *testing.T) {
		c := sandbox.Command{Argv: []string{"cat"}, Stdin: io.MultiReader(strings.NewReader("ab"), failingReader{})}
		res, err := e.b.Run(t.Context(), e.profile(), c)
		if err == nil { // the program saw a shorter input, or the call says that its input broke; never a hang
			assert.Equal(t, "ab", string(res.Stdout))
		}
	})
}

// zeros is an endless input.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
