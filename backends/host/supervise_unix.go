//go:build linux || darwin

package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// The descriptors of a supervisor, beside its own three.
const (
	controlFD = 3 + iota // the job, and then nothing until it ends: the caller is gone, or wants the program's end
	newsFD
	stdinFD
	stdoutFD
	stderrFD
	endFD
)

const (
	// killGrace is how long a supervisor tries to kill everything.
	killGrace = 2 * time.Second
	// killEvery is how long it waits for what it has killed.
	killEvery = 5 * time.Millisecond
)

// supervisor watches one program.
type supervisor struct {
	job   job
	news  *json.Encoder
	gone  chan struct{} // closed when the caller is gone
	pid   int
	ended chan ending   // receives the program's end
	alone chan struct{} // closed when this process has no child left
}

// supervise does one job and returns the supervisor's exit status.
func supervise() int {
	// The parent-death signal of the program follows the thread that forked it (prctl(2), PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	for fd := controlFD; fd < endFD; fd++ {
		syscall.CloseOnExec(fd)
	}
	s := &supervisor{
		news: json.NewEncoder(os.NewFile(newsFD, "news")), gone: make(chan struct{}),
		ended: make(chan ending, 1), alone: make(chan struct{}),
	}
	control := os.NewFile(controlFD, "control")
	jobs := json.NewDecoder(control)
	if err := jobs.Decode(&s.job); err != nil {
		fmt.Fprintln(os.Stderr, "no job:", err)
		return 1
	}
	go func() {
		_, _ = io.Copy(io.Discard, control)
		close(s.gone)
	}()
	if err := s.run(); err != nil {
		s.tell(news{Fault: newFault(err)})
	}
	return 0
}

// tell sends a message. A caller that is gone misses it.
func (s *supervisor) tell(n news) { _ = s.news.Encode(n) }

// run starts the program, waits for its end and sees to it that nothing of it is left.
func (s *supervisor) run() error {
	if err := adoptOrphans(); err != nil {
		return setup("adopt orphans", err)
	}
	fault, err := s.start()
	if err != nil {
		return err
	}
	go s.reap()
	if fault != nil {
		s.clear()
		s.tell(news{Fault: fault})
		return nil
	}
	end := s.watch()
	s.tell(news{End: &end})
	return nil
}

// start starts the process that becomes the program, and returns when it is the program or says why not. With an error
// there is no such process.
func (s *supervisor) start() (*fault, error) {
	j, err := json.Marshal(s.job)
	if err != nil {
		return nil, setup("write the job", err)
	}
	jobs, toJobs, err := os.Pipe()
	if err != nil {
		return nil, setup("make a pipe", err)
	}
	defer toJobs.Close()
	faults, toFaults, err := os.Pipe()
	if err != nil {
		jobs.Close()
		return nil, setup("make a pipe", err)
	}
	defer faults.Close()
	self, err := self()
	if err == nil {
		s.pid, err = syscall.ForkExec(self, []string{self, programWord}, &syscall.ProcAttr{
			Env: []string{}, Sys: programAttributes(),
			Files: []uintptr{stdinFD, stdoutFD, stderrFD, jobs.Fd(), toFaults.Fd()},
		})
	}
	jobs.Close()
	toFaults.Close()
	for fd := stdinFD; fd < endFD; fd++ {
		syscall.Close(fd) // or nobody would see the program's output end
	}
	if err != nil {
		return nil, setup("start this program again", err)
	}
	// Before it can run: a program may stop or kill this process first of all, and the caller then has to know whom to kill.
	s.tell(news{Group: s.pid})
	_, _ = toJobs.Write(j) // who reads no job says so, or does not become the program
	toJobs.Close()
	return readFault(faults), nil
}

// readFault waits for the program's start, and returns why there was none.
func readFault(faults io.Reader) *fault {
	said, err := io.ReadAll(faults)
	if err == nil && len(bytes.TrimSpace(said)) == 0 {
		return nil
	}
	var f fault
	if err == nil {
		err = json.Unmarshal(said, &f)
	}
	if err != nil {
		return newFault(setup("wait for the program's start", err))
	}
	return &f
}

// reap takes the status of every child, adopted ones too, until there is none.
func (s *supervisor) reap() {
	defer close(s.alone)
	defer close(s.ended)
	for {
		var status syscall.WaitStatus
		var used syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &used)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return // ECHILD
		case pid == s.pid:
			s.ended <- ending{Status: uint32(status), Own: duration(used.Utime) + duration(used.Stime)}
		}
	}
}

// watch waits for the program's end, or makes it.
func (s *supervisor) watch() ending {
	deadline := time.NewTimer(s.job.Timeout)
	defer deadline.Stop()
	var end ending
	var timedOut, canceled, known bool
	select {
	case end, known = <-s.ended:
	case <-deadline.C:
		timedOut = true
	case <-s.gone:
		canceled = true
	}
	survivors := s.clear()
	if !known {
		select {
		case end, known = <-s.ended:
		default:
		}
	}
	end.Lost, end.TimedOut, end.Canceled, end.Survivors = !known, timedOut, canceled, survivors
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &all); err == nil {
		end.User, end.System = duration(all.Utime), duration(all.Stime)
	}
	return end
}

// clear kills until nothing is left, and reports whether something is.
func (s *supervisor) clear() (survivors bool) {
	over := time.NewTimer(killGrace)
	defer over.Stop()
	for {
		select {
		case <-s.alone:
			return s.groupLeft()
		case <-over.C:
			return true
		case <-time.After(time.Millisecond): // most programs leave nothing
		}
		killTree(s.pid)
		select {
		case <-s.alone:
			return s.groupLeft()
		case <-over.C:
			return true
		case <-time.After(killEvery):
		}
	}
}

func duration(t syscall.Timeval) time.Duration { return time.Duration(t.Nano()) }
