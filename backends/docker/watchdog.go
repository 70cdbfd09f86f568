package docker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/soulacy/toolcell/backends/docker/helper"
)

// watchdog is the process that removes this one's containers when it dies.
type watchdog struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	err error // why it can no longer be told anything
}

// startWatchdog starts the program as a watchdog.
func startWatchdog(program string, watch helper.Watch) (*watchdog, error) {
	fix := "call helper.Main first thing in main"
	if program == "" {
		return nil, unavailable("start the watchdog", errors.New("this program cannot be it"), fix)
	}
	cmd := helper.WatchdogCommand(program)
	cmd.Stderr = os.Stderr // it says one thing at most, before it watches anything
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, unavailable("start the watchdog", err, fix)
	}
	d := &watchdog{cmd: cmd, in: in}
	if err := helper.Greet(in, watch); err != nil {
		d.close()
		return nil, unavailable("start the watchdog", err, fix)
	}
	return d, nil
}

// add names a container before it is made. Without a watchdog none may be.
func (d *watchdog) add(name string) error { return d.tell("add", name) }

// forget takes a name back when its container has certainly gone.
func (d *watchdog) forget(name string) { _ = d.tell("forget", name) } // the next add fails too, and says so

func (d *watchdog) tell(op, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	if _, err := fmt.Fprintf(d.in, "%s %s\n", op, name); err != nil {
		d.err = unavailable("tell the watchdog", fmt.Errorf("it has ended: %w", err), "open the backend again")
		return d.err
	}
	return nil
}

// close lets the watchdog remove what was not taken back, and end. Nothing waits for that.
func (d *watchdog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = errors.New("the backend is closed")
	_ = d.in.Close()
	go func() { _ = d.cmd.Wait() }() // it has no result
}
