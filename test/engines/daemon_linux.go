package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Times that a daemon has. They are generous: a daemon that is slow is no failure of what is tested.
const (
	readyTimeout = time.Minute
	stopTimeout  = 30 * time.Second
	pollInterval = 50 * time.Millisecond
)

// daemon is a process of ours that serves until it is stopped.
type daemon struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	quit chan struct{}
	once sync.Once
}

// startDaemon starts cmd, which is told to end when this process dies, and collects what it prints in dir.
func startDaemon(cmd *exec.Cmd, dir string) (*daemon, error) {
	d := &daemon{cmd: cmd, log: filepath.Join(dir, "log"), done: make(chan struct{}), quit: make(chan struct{})}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go d.serve(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return d, nil
}

// serve starts the process from a thread that stays: the parent-death signal comes when the thread that forked ends, not
// the process (prctl(2), PR_SET_PDEATHSIG).
func (d *daemon) serve(started chan<- error) {
	runtime.LockOSThread()
	err := d.cmd.Start()
	started <- err
	if err == nil {
		_ = d.cmd.Wait() // how it ended is in its log, and in its exit status
		close(d.done)
		<-d.quit
	}
}

// await returns when ready does without an error; it gives up when the process ends or takes too long.
func (d *daemon) await(ready func() error) error {
	deadline := time.Now().Add(readyTimeout)
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-d.done:
			return fmt.Errorf("%s ended: %v: %s", d.cmd.Path, d.cmd.ProcessState, d.tail())
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not answer: %w: %s", d.cmd.Path, err, d.tail())
		}
	}
}

// stop asks the process to end and waits for it. One that does not is killed, which is an error.
func (d *daemon) stop() error {
	defer d.once.Do(func() { close(d.quit) })
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && err != os.ErrProcessDone {
		return err
	}
	select {
	case <-d.done:
		return nil
	case <-time.After(stopTimeout):
	}
	err := d.cmd.Process.Kill()
	<-d.done
	return fmt.Errorf("%s had to be killed (%v): %s", d.cmd.Path, err, d.tail())
}

// tail returns the end of the process's log.
func (d *daemon) tail() string {
	const size = 4000
	b, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-size):])
}
