package helper

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
)

// writer writes whole frames to the container's standard output.
type writer struct {
	mu sync.Mutex
	fd int
}

func (w *writer) write(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 {
		n, err := syscall.Write(w.fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		default:
			p = p[n:]
		}
	}
	return nil
}

func (w *writer) frame(t frame.Type, data []byte) error { return w.write(frame.Append(nil, t, data)) }

// message writes a frame that is the last one and returns the exit status.
func (w *writer) message(t frame.Type, m frame.Message) int {
	data, err := frame.Encode(t, m)
	if err != nil || w.write(data) != nil {
		return 1
	}
	return 0
}

// relay passes on what the program writes. Before each piece it looks whether the kernel has killed a process for
// memory: what the survivors say then is no longer a result.
func (r *run) relay(from *os.File, t frame.Type) {
	defer func() { r.relays <- struct{}{} }()
	defer from.Close()
	buf := make([]byte, frame.HeaderSize+frame.MaxData)
	for {
		n, err := from.Read(buf[frame.HeaderSize:])
		if n > 0 && !r.outOfMemory() {
			frame.PutHeader(buf, t, n)
			if r.out.write(buf[:frame.HeaderSize+n]) != nil {
				r.stop() // nobody listens any more
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stop asks supervise to end the call.
func (r *run) stop() {
	select {
	case r.kill <- struct{}{}:
	default: // it has been asked already
	}
}

// listen takes what the caller sends until it sends no more. A caller whose stream ends is gone, and so is the call.
func (r *run) listen(in *input) {
	defer close(r.done)
	buf := make([]byte, frame.MaxData)
	for {
		t, data, err := frame.Read(os.Stdin, buf)
		switch {
		case err != nil, t == frame.Done:
			in.end()
			r.stop()
			return
		case t == frame.Kill:
			in.end()
			r.stop()
		case t == frame.Input:
			in.add(data)
		case t == frame.InputEnd:
			in.end()
		}
	}
}

// input keeps what the caller has sent and the program has not read, at most frame.InputWindow.
type input struct {
	to  *os.File // nil when the program has no input
	out *writer

	mu      sync.Mutex
	changed *sync.Cond
	queue   []byte
	over    bool
}

func newInput(to *os.File, out *writer) *input {
	in := &input{to: to, out: out}
	in.changed = sync.NewCond(&in.mu)
	return in
}

func (in *input) add(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue)+len(p) <= frame.InputWindow { // a caller that sends more loses it
		in.queue = append(in.queue, p...)
	}
	in.changed.Signal()
}

func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
	in.changed.Signal()
}

// next waits for input and takes all that there is, into buf.
func (in *input) next(buf []byte) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.queue) == 0 && !in.over {
		in.changed.Wait()
	}
	buf = append(buf[:0], in.queue...)
	in.queue = in.queue[:0]
	return buf
}

// write hands the input to the program until it ends or nobody reads it.
func (in *input) write() {
	if in.to == nil {
		return
	}
	defer in.to.Close()
	var buf, taken []byte
	for {
		buf = in.next(buf)
		if len(buf) == 0 {
			return
		}
		if _, err := in.to.Write(buf); err != nil {
			_ = in.out.frame(frame.InputClosed, nil) // a caller that is gone does not need to know
			return
		}
		taken = frame.Append(taken[:0], frame.Window, binary.BigEndian.AppendUint32(nil, uint32(len(buf))))
		if in.out.write(taken) != nil {
			return
		}
	}
}
