package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/soulacy/toolcell/backends/native"
)

// worker is this program once more, with a heap of its own, making one call whenever it is told to. That way calls of
// callers with different heaps alternate as calls of one caller do.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startWorker starts a worker that keeps that much memory alive.
func startWorker(mib int, bin, waive string) (*worker, error) {
	cmd := command([]string{"/proc/self/exe", "-worker", strconv.Itoa(mib), "-bin", bin, "-waive", waive})
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return &worker{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// call has the worker make one call of the named subject.
func (w *worker) call(name string) (time.Duration, error) {
	if _, err := fmt.Fprintln(w.in, name); err != nil {
		return 0, fmt.Errorf("ask a worker: %w", err)
	}
	line, err := w.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("ask a worker: %w", err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a worker: %s", strings.TrimSpace(line))
	}
	return time.Duration(ns), nil
}

func (w *worker) close() error {
	return errors.Join(w.in.Close(), w.cmd.Wait())
}

// subject is a call that the worker makes.
func (w *worker) subject(name, heap string) subject {
	return subject{name: name + heap, run: func() (time.Duration, error) { return w.call(name) }}
}

// work is the worker's side: it answers each line, a subject's name, with nanoseconds or an error's text.
func work(mib int, bin, waive string) error {
	b, err := openBackend(bin, waive, native.Config{})
	if err != nil {
		return err
	}
	ballast := fill(mib)
	known := map[string]subject{}
	for _, s := range []subject{bare(nameBare, truth()), newUser(truth()), cold(b, truth())} {
		known[s.name] = s
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		d, err := known[lines.Text()].run()
		if err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println(d.Nanoseconds())
	}
	touch(ballast)
	return b.Close()
}

// fill allocates memory and writes to each page of it, so that the page tables are there to be copied.
func fill(mib int) [][]byte {
	ballast := make([][]byte, mib)
	for i := range ballast {
		ballast[i] = make([]byte, 1<<20)
	}
	touch(ballast)
	return ballast
}

func touch(ballast [][]byte) {
	page := os.Getpagesize()
	for _, b := range ballast {
		for i := 0; i < len(b); i += page {
			b[i]++
		}
	}
}
