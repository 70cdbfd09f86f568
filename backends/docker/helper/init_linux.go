package helper

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/backends/docker/internal/frame"
	"github.com/soulacy/toolcell/backends/internal/signals"
)

// isInit reports whether this is the file that the backend mounted, started as the container's entry point.
func isInit() bool {
	if len(os.Args) != 2 || os.Args[0] != InitPath {
		return false
	}
	exe, err := os.Readlink("/proc/self/exe")
	return err == nil && exe == InitPath
}

// runInit is init's life. Its result is the container's exit status, which nobody reads: what matters is in the frames.
func runInit(arg string) int {
	// Once init is hidden, this file is root's; what is open stays open.
	adj, adjErr := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	out := &writer{fd: 1}
	r := &run{out: out, kill: make(chan struct{}, 1), done: make(chan struct{})}
	if f := hide(arg); f != nil {
		return r.refuse(f)
	}
	if arg == ArgIdle {
		return idle(out)
	}
	if arg != ArgCall {
		return 2
	}
	data, ok := request(out)
	if !ok {
		return 2
	}
	if adjErr == nil {
		r.score = adj
	}
	if err := frame.Decode(data, &r.call); err != nil {
		return 2
	}
	if f := r.start(); f != nil {
		return r.refuse(f)
	}
	status := out.message(frame.Result, r.supervise())
	if r.call.Stdin {
		r.stay()
	}
	return status
}

// request says that init is there, as often as it is asked, and returns the call.
func request(out *writer) (data []byte, ok bool) {
	for t := frame.Here; t == frame.Here; {
		if out.frame(frame.Here, nil) != nil {
			return nil, false
		}
		var err error
		if t, data, err = frame.Read(os.Stdin, nil); err != nil {
			return nil, false
		}
		ok = t == frame.Request
	}
	return data, ok
}

// refuse says why there is no program.
func (r *run) refuse(f *frame.Failure) int {
	go r.listen(newInput(nil, r.out))
	status := r.out.message(frame.Fault, f)
	r.stay()
	return status
}

// stay waits until the caller sends nothing more.
func (r *run) stay() {
	select {
	case <-r.done:
	case <-time.After(doneGrace):
	}
}

// hide keeps the program from everything that init has: with the same uid it could otherwise open init's descriptors,
// memory and environment in /proc (proc(5), PR_SET_DUMPABLE). Signals that it sends are taken and dropped.
func hide(arg string) *frame.Failure {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return failure("hide from the program", frame.ClassSetup, err)
	}
	// PID 1 is the reaper. In a session's call init is not, and what its program leaves behind is to be its own all the same.
	if os.Getpid() != 1 || arg == ArgIdle {
		if err := becomeReaper(); err != nil {
			return failure("tell the processes of a session's calls apart", frame.ClassSession, err)
		}
	}
	if err := signals.Unignore(); err != nil { // what the engine's own start has left
		return failure("give signals their default actions", frame.ClassSetup, err)
	}
	signal.Notify(make(chan os.Signal, 1))
	return nil
}

// becomeReaper makes this process the reaper of its descendants, from two threads: gVisor allows it to the first thread of
// PID 1 alone, which is one anyway (pkg/sentry/syscalls/linux/sys_prctl.go), and so shows that it would not to others.
func becomeReaper() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := make(chan error)
	go func() { other <- unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }()
	return errors.Join(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), <-other)
}

// idle is a session's first process: it reaps what calls leave behind, and ends with its input, which is the caller's.
func idle(out *writer) int {
	go func() {
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); errors.Is(err, syscall.ECHILD) {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}()
	if out.frame(frame.Started, nil) != nil {
		return 1
	}
	for {
		if _, _, err := frame.Read(os.Stdin, nil); err != nil {
			return 0
		}
	}
}

// run is one call.
type run struct {
	call  frame.Call
	out   *writer
	count counters
	base  usage
	// score is this process's /proc/self/oom_score_adj; nil when there is none.
	score *os.File

	pid   int
	ended chan struct{} // closed when the program was waited for; status is valid from then on
	// status is the program's wait status.
	status  syscall.WaitStatus
	kill    chan struct{}
	done    chan struct{} // closed when the caller sends nothing more
	relays  chan struct{} // receives once for each output stream that has ended
	streams int           // how many have not
	stdin   *os.File
	outputs [2]*os.File
}

const (
	tick = 10 * time.Millisecond
	// drainGrace is how long a call waits for what the program's orphans still write.
	drainGrace = 200 * time.Millisecond
	// killGrace is how long pipes may stay open when every process that held them was killed.
	killGrace = time.Second
	// doneGrace is how long init stays for a caller that has not heard how the call ended.
	doneGrace = 10 * time.Second
)

// supervise waits until the program has ended, or ends it, and takes what is left with it.
func (r *run) supervise() *frame.Ending {
	var e frame.Ending
	e.Cause = r.wait()
	if e.Cause == frame.CauseNone {
		r.drain(time.After(drainGrace))
	}
	if e.Cause == frame.CauseNone && r.outOfMemory() {
		e.Cause = frame.CauseOOM // it was the program that the kernel killed, and what it leaves goes too
	}
	all := e.Cause != frame.CauseNone || !r.call.Keep // of the call ends with its program
	over := time.NewTimer(2 * killGrace)
	defer over.Stop()
	if all {
		r.killTree()
	}
	select {
	case <-r.ended:
		e.Exited, e.Status = true, uint32(r.status)
	case <-over.C:
	}
	if all {
		r.drain(time.After(killGrace))
	}
	r.count.fill(&e, r.base, r.call.Tasks)
	if e.OOMKills > 0 {
		e.Cause = frame.CauseOOM
	}
	return &e
}

// wait returns when the program has ended, with no cause, or when it has to be ended.
func (r *run) wait() frame.Cause {
	deadline := time.After(r.call.Timeout)
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case <-r.ended:
			return frame.CauseNone
		case <-deadline:
			return frame.CauseTimeout
		case <-r.kill:
			return frame.CauseKill
		case <-ticks.C:
			if cause := r.overdrawn(); cause != frame.CauseNone {
				return cause
			}
		}
	}
}

// overdrawn reports whether a limit that the kernel does not end the whole tree for has been reached.
func (r *run) overdrawn() frame.Cause {
	if r.outOfMemory() {
		return frame.CauseOOM
	}
	if used := r.count.cpu(); used.user+used.system-r.base.user-r.base.system > r.call.CPU {
		return frame.CauseCPU
	}
	return frame.CauseNone
}

func (r *run) outOfMemory() bool { return r.count.oomKills() > r.base.oomKills }

// drain waits for both output streams to end, or until the time is over or the caller wants no more.
func (r *run) drain(over <-chan time.Time) {
	for r.streams > 0 {
		select {
		case <-r.relays:
			r.streams--
		case <-r.kill:
			return
		case <-over:
			return
		}
	}
}

// reap waits for every process that is, or becomes, init's child.
func (r *run) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // ECHILD: nobody is left, and without a child of its own init gets none
		case pid == r.pid && (ws.Exited() || ws.Signaled()):
			r.status = ws
			close(r.ended)
		}
	}
}
