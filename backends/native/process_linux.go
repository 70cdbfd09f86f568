package native

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/native/spawner"
)

// process is a spawner as a process. os/exec would do the same with another fork, to find out whether pidfds work, and
// with a thread that waits.
type process struct {
	pid    int
	stderr tail
	// done is closed when the process has ended and has been waited for; state is valid from then on.
	done  chan struct{}
	state syscall.WaitStatus
	// lost is why there is no state: a caller that ignores SIGCHLD gets ECHILD instead of one (wait(2)).
	lost error

	// mu keeps pidfd from being closed, and its number from being another file's, while a signal is sent by it.
	mu    sync.Mutex
	pidfd int // -1 once it is closed
}

// startProcess executes the program by its descriptor, with extra as its descriptors from 3 on.
func startProcess(program *os.File, attributes *syscall.SysProcAttr, extra []uintptr) (*process, error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unavailable("open "+os.DevNull, err, "")
	}
	defer unix.Close(null)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, unavailable("make the spawner's standard error", err, "")
	}
	defer unix.Close(pipe[1])
	if err := unix.SetNonblock(pipe[0], true); err != nil {
		unix.Close(pipe[0])
		return nil, unavailable("make the spawner's standard error", err, "")
	}
	p := &process{pidfd: -1, done: make(chan struct{})}
	attributes.PidFD = &p.pidfd
	p.pid, err = syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", program.Fd()), []string{spawnerName}, &syscall.ProcAttr{
		Dir: "/", Env: spawner.Environment(), Sys: attributes,
		Files: append([]uintptr{uintptr(null), uintptr(null), uintptr(pipe[1])}, extra...),
	})
	if err != nil {
		unix.Close(pipe[0])
		return nil, startError(err)
	}
	go p.wait(os.NewFile(uintptr(pipe[0]), "spawner stderr"))
	return p, nil
}

// wait reads what the process says until nobody is left to say it, and then takes its status.
func (p *process) wait(stderr *os.File) {
	defer close(p.done)
	p.stderr.readFrom(stderr)
	stderr.Close()
	for {
		_, err := syscall.Wait4(p.pid, &p.state, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			p.lost = err
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	unix.Close(p.pidfd)
	p.pidfd = -1
}

// kill kills the process, unless it has been waited for.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd >= 0 {
		_ = unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0) // only ESRCH: it has ended
	}
}

// status says how the process ended. It may be called when done is closed.
func (p *process) status() string {
	switch {
	case p.lost != nil:
		return p.lost.Error()
	case p.state.Signaled():
		return "signal: " + p.state.Signal().String()
	default:
		return fmt.Sprintf("exit status %d", p.state.ExitStatus())
	}
}

// tail keeps the last bytes that a spawner wrote to its standard error: a crash, seen only in an error's text.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 2048

// readFrom keeps the end of what r has, until it ends.
func (t *tail) readFrom(r io.Reader) {
	var p [tailBytes]byte
	for {
		n, err := r.Read(p[:])
		t.mu.Lock()
		t.buf = append(t.buf, p[:n]...)
		if n := len(t.buf); n > tailBytes {
			t.buf = append(t.buf[:0], t.buf[n-tailBytes:]...)
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String returns what was kept, on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ReplaceAll(bytes.TrimSpace(t.buf), []byte("\n"), []byte("; ")))
}
