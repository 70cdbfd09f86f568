package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/test/kernels/report"
)

// port is the serial port that carries results and nothing else.
const port = "/dev/ttyS1"

// agent works through the job and switches the machine off, whatever comes.
func agent() error {
	defer func() {
		unix.Sync()
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	}()
	out, err := os.OpenFile(port, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	results := json.NewEncoder(io.MultiWriter(out, os.Stderr))
	err = work(results)
	if err != nil {
		err = errors.Join(err, results.Encode(report.Event{Error: err.Error()}))
	}
	err = errors.Join(err, results.Encode(report.Event{Done: true}), drain(out))
	return errors.Join(err, out.Close())
}

// drain waits until the port has sent everything (tcdrain(3)).
func drain(f *os.File) error { return unix.IoctlSetInt(int(f.Fd()), unix.TCSBRK, 1) }

func work(results *json.Encoder) error {
	text, err := os.ReadFile(dir + "/job.json")
	if err != nil {
		return err
	}
	var job report.Job
	if err := json.Unmarshal(text, &job); err != nil {
		return err
	}
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		return err
	}
	w := worker{kernel: unix.ByteSliceToString(uname.Release[:]), results: results}
	for _, c := range job.Cells {
		if err := w.cell(c); err != nil {
			return err
		}
	}
	return nil
}

// worker makes the steps of cells.
type worker struct {
	kernel  string
	results *json.Encoder
	// remedies are what doctor printed where calls were refused.
	remedies []string
}

// cell makes the steps of one cell. A step that cannot be made is told and does not hinder the next; an error means that
// nothing can be told.
func (w *worker) cell(c report.Cell) error {
	if c.Mended {
		if err := w.step(c, func(*report.Event) error { return w.mend() }); err != nil {
			return err
		}
	}
	steps := []func(*report.Event) error{
		func(e *report.Event) (err error) { e.Doctor, err = w.doctor(c); return err },
		func(e *report.Event) (err error) { e.Calls, err = w.calls(c); return err },
	}
	for _, s := range c.Suites {
		steps = append(steps, func(e *report.Event) (err error) { e.Suite, err = w.suite(c, s); return err })
	}
	for _, s := range steps {
		if err := w.step(c, s); err != nil {
			return err
		}
	}
	return nil
}

// step makes one step and tells what came of it.
func (w *worker) step(c report.Cell, do func(*report.Event) error) error {
	e := report.Event{Cell: c.Name, Kernel: w.kernel}
	start := time.Now()
	if err := do(&e); err != nil {
		e.Error = err.Error()
	}
	e.Seconds = time.Since(start).Seconds()
	if err := w.results.Encode(e); err != nil {
		return fmt.Errorf("tell a result: %w", err)
	}
	return nil
}
