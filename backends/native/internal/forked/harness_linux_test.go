package forked

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/internal/plan"
)

// child is a forked child under test.
type child struct {
	pid, pidfd int
	channel    int
	// attention is the eventfd by which the child has its channel read.
	attention int
}

// encoded returns the plan of b and the program as they travel.
func encoded(t *testing.T, b *plan.Builder, prog plan.Program) [][]byte {
	t.Helper()
	shape, err := b.Shape()
	require.NoError(t, err)
	steps, err := shape.Encode()
	require.NoError(t, err)
	start, err := plan.Encode(prog)
	require.NoError(t, err)
	return [][]byte{steps, start}
}

func memfd(t *testing.T, data []byte) int {
	t.Helper()
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	_, err = unix.Write(fd, data)
	require.NoError(t, err)
	return fd
}

// forkPlan forks a child that executes b and starts prog, with more descriptors from plan.FirstFD on. It makes no namespace.
func forkPlan(t *testing.T, b *plan.Builder, prog plan.Program, more ...int) *child {
	t.Helper()
	data := encoded(t, b, prog)
	return forkFDs(t, append([]int{memfd(t, data[0]), memfd(t, data[1])}, more...)...)
}

// forker returns a Forker. Its memory stays mapped, as it does in a spawner.
func forker(t *testing.T) *Forker {
	t.Helper()
	f, err := NewForker()
	require.NoError(t, err)
	return f
}

// forkFDs forks a child with a channel, an attention and fds, in this order.
func forkFDs(t *testing.T, fds ...int) *child {
	t.Helper()
	return forkRequest(t, Request{}, fds...)
}

// forkRequest forks a child as r wants it, but for the descriptors.
func forkRequest(t *testing.T, r Request, fds ...int) *child {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	attention, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	require.NoError(t, err)
	r.N = 2 + len(fds)
	r.FDs[0], r.FDs[1] = int32(pair[1]), int32(attention)
	for i, fd := range fds {
		r.FDs[2+i] = int32(fd)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, pidfd, errno := forker(t).Fork(&r)
	require.NoError(t, unix.Close(pair[1]))
	require.Zero(t, errno)
	c := &child{pid: pid, pidfd: pidfd, channel: pair[0], attention: attention}
	t.Cleanup(func() {
		_ = unix.Close(c.channel)
		_ = unix.Close(c.attention)
		_ = unix.PidfdSendSignal(c.pidfd, unix.SIGKILL, nil, 0)
		_, _ = unix.Wait4(c.pid, nil, 0, nil)
		_ = unix.Close(c.pidfd)
	})
	return c
}

// next returns the child's next record, or io.EOF.
func (c *child) next() (Record, error) {
	var rec Record
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&rec)), RecordSize)
	for {
		n, _, err := unix.Recvfrom(c.channel, buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return rec, err
		case n == 0:
			return rec, io.EOF
		case n != RecordSize:
			return rec, io.ErrUnexpectedEOF
		default:
			return rec, nil
		}
	}
}

// called reports how often the child asked for attention.
func (c *child) called(t *testing.T) uint64 {
	t.Helper()
	var n [8]byte
	_, err := unix.Read(c.attention, n[:])
	if errors.Is(err, unix.EAGAIN) {
		return 0
	}
	require.NoError(t, err)
	return binary.NativeEndian.Uint64(n[:])
}

// end returns every record up to the end of the child, and its exit status.
func (c *child) end(t *testing.T) ([]Record, int) {
	t.Helper()
	var out []Record
	for {
		rec, err := c.next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		out = append(out, rec)
	}
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(c.pid, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		require.NoError(t, err)
		break
	}
	require.True(t, status.Exited(), "the child ended by itself: %#x", status)
	return out, status.ExitStatus()
}

// shell is a program that runs a script.
func shell(script string) plan.Program {
	return plan.Program{Paths: []string{"/bin/sh"}, Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

// output adds the step that makes a pipe the program's standard output, and returns what reads it and the descriptor to
// pass first of the further ones.
func output(t *testing.T, b *plan.Builder) (r *os.File, w int) {
	t.Helper()
	b.Call("stdout", plan.Dup3, []plan.Arg{plan.FD(plan.FirstFD), plan.FD(1), plan.Num(0)}, plan.Want(1))
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
	r = os.NewFile(uintptr(p[0]), "output")
	t.Cleanup(func() { _ = r.Close() })
	return r, p[1]
}

// outputOf runs prog after the steps of b and returns what it prints and the records.
func outputOf(t *testing.T, b *plan.Builder, prog plan.Program) (string, []Record) {
	t.Helper()
	r, w := output(t, b)
	c := forkPlan(t, b, prog, w)
	require.NoError(t, unix.Close(w))
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	recs, status := c.end(t)
	require.Zero(t, status)
	return string(data), recs
}
