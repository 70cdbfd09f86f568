package main

import (
	"context"
	"errors"
	"time"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// ahead makes calls of run_code that each find a sandbox with the interpreter standing ready, which the tools keep so by
// themselves. Between its calls it waits for the next to be ready, so that none is built while others are measured.
type ahead struct {
	backend *native.Backend
	tools   tools.Tools
	args    tools.CodeArgs
	output  string
}

func newAhead(b *native.Backend, p program) *ahead {
	return &ahead{
		backend: b, output: p.output,
		tools: tools.Tools{Chooser: here{b}, Ahead: tools.NewAhead(tools.Keep{Count: 1})},
		args:  tools.CodeArgs{Language: p.code.language, Code: p.code.code},
	}
}

func (a *ahead) close() error { return a.tools.Ahead.Close() }

func (a *ahead) subject() subject {
	return subject{name: nameCodeArmed, run: func() (time.Duration, error) {
		d, err := again(a.one)
		return d, errors.Join(err, a.await())
	}}
}

// one makes one call for which something stands ready.
func (a *ahead) one() (time.Duration, error) {
	if err := a.await(); err != nil {
		return 0, err
	}
	return served(a.backend, a.call)
}

func (a *ahead) call() (time.Duration, error) { return runCode(a.tools, a.args, a.output) }

// runCode makes a call of run_code.
func runCode(t tools.Tools, args tools.CodeArgs, output string) (time.Duration, error) {
	begin := time.Now()
	r, err := t.RunCode(context.Background(), args)
	d := time.Since(begin)
	if err != nil {
		return d, err
	}
	return d, check(r.Result, output)
}

// How long a sandbox is waited for, and when a call asks for one again: what nobody has used for a minute is given up.
const (
	awaitTurns = 10
	awaitTurn  = 3 * time.Second
	awaitPoll  = time.Millisecond
)

// await waits until a sandbox stands ready.
func (a *ahead) await() error {
	for range awaitTurns {
		for end := time.Now().Add(awaitTurn); time.Now().Before(end); time.Sleep(awaitPoll) {
			if a.backend.ArmedStats().Ready > 0 {
				return nil
			}
		}
		if _, err := a.call(); err != nil {
			return err
		}
	}
	return errNothingReady
}
