package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/soulacy/toolcell/backends/native"
	"github.com/soulacy/toolcell/sandbox"
	"github.com/soulacy/toolcell/sandbox/tools"
)

// here is the operator's choice in this program: every call runs on the backend, under the default profile.
type here struct{ backend sandbox.Backend }

// Choose implements [tools.Chooser].
func (h here) Choose(context.Context, tools.Request) (tools.Place, error) {
	return tools.Place{Backend: h.backend}, nil
}

// codeCold makes a call of run_code itself.
func codeCold(b sandbox.Backend, p program) subject {
	args := tools.CodeArgs{Language: p.code.language, Code: p.code.code}
	return subject{name: nameCode, run: func() (time.Duration, error) { return runCode(tools.Tools{Chooser: here{b}}, args, p.output) }}
}

// snippetCall is a call as run_code makes it: the code in a file of a read-only mount, an output directory that it is
// started in. The directories are made ahead, with the sandbox; the file is written when the call is made.
type snippetCall struct {
	backend *native.Backend
	snippet *snippet
	dir     string
	profile sandbox.ContainerProfile
	command sandbox.Command
}

// The places inside, which are run_code's.
const (
	codeInside   = "/code"
	outputInside = "/output"
)

func newSnippetCall(b *native.Backend, s *snippet) (*snippetCall, error) {
	dir, err := os.MkdirTemp("", "toolcell-bench-code-")
	if err != nil {
		return nil, fmt.Errorf("make a call's directories: %w", err)
	}
	c := &snippetCall{backend: b, snippet: s, dir: dir}
	for _, sub := range []string{c.code(), c.output()} {
		if err := os.Mkdir(sub, 0o755); err != nil {
			return nil, fmt.Errorf("make a call's directories: %w", err)
		}
	}
	if os.Geteuid() == 0 {
		const insideID = 65532 // who the program of a root caller is
		if err := os.Chown(c.output(), insideID, insideID); err != nil {
			return nil, fmt.Errorf("make a call's directories: %w", err)
		}
	}
	c.profile.Binds = []sandbox.Mount{
		{Source: c.code(), Target: codeInside}, {Source: c.output(), Target: outputInside, Writable: true},
	}
	c.command = sandbox.Command{
		Argv: append(s.argv[:len(s.argv):len(s.argv)], codeInside+"/"+s.file), Dir: outputInside,
		Env: append(s.env[:len(s.env):len(s.env)], "OUTPUT_DIR="+outputInside),
	}
	return c, nil
}

func (c *snippetCall) code() string   { return filepath.Join(c.dir, "code") }
func (c *snippetCall) output() string { return filepath.Join(c.dir, "output") }

// arm has the call's sandbox stand ready.
func (c *snippetCall) arm(a sandbox.Arming) error {
	a.Count, a.Once, a.Like = 1, true, c.command
	return armOne(c.backend, c.profile, a)
}

// armTurns is how often something is armed until it stands ready: what others do to the armory meanwhile may undo it.
const armTurns = 5

var errNothingReady = errors.New("nothing stands ready, though no error was said")

// armOne has a sandbox stand ready, and looks that it does.
func armOne(b *native.Backend, p sandbox.ContainerProfile, a sandbox.Arming) error {
	for range armTurns {
		before := b.ArmedStats().Ready
		if err := b.Arm(context.Background(), p, a); err != nil {
			return err
		}
		if b.ArmedStats().Ready > before {
			return nil
		}
	}
	return errNothingReady
}

var errNotServed = errors.New("the call did not find what stood ready for it")

// again makes a call once more when it did not find what stood ready: that may have been given up at this very time.
func again(call func() (time.Duration, error)) (d time.Duration, err error) {
	for range armTurns {
		if d, err = call(); !errors.Is(err, errNotServed) {
			return d, err
		}
	}
	return d, err
}

// served makes a call that has to find a sandbox standing ready: another one's time is none of an armed call.
func served(b *native.Backend, call func() (time.Duration, error)) (time.Duration, error) {
	return counted(func() int { return b.ArmedStats().Served }, call)
}

// counted makes a call that has to be counted among those which found something ready.
func counted(found func() int, call func() (time.Duration, error)) (time.Duration, error) {
	before := found()
	d, err := call()
	if err == nil && found() != before+1 {
		err = errNotServed
	}
	return d, err
}

// run writes the code and makes the call.
func (c *snippetCall) run(output string) (time.Duration, error) {
	begin := time.Now()
	if err := os.WriteFile(filepath.Join(c.code(), c.snippet.file), []byte(c.snippet.code), 0o644); err != nil {
		return 0, fmt.Errorf("write the code: %w", err)
	}
	r, err := c.backend.Run(context.Background(), c.profile, c.command)
	d := time.Since(begin)
	if err != nil {
		return d, err
	}
	return d, check(r, output)
}

func (c *snippetCall) close() error {
	err := c.backend.Arm(context.Background(), c.profile, sandbox.Arming{})
	return errors.Join(err, os.RemoveAll(c.dir))
}

// codeArmed makes calls as run_code does, each of which finds a sandbox standing ready; a says with what in it.
func codeArmed(name string, b *native.Backend, p program, a sandbox.Arming) subject {
	one := func() (d time.Duration, err error) {
		c, err := newSnippetCall(b, p.code)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		if err := c.arm(a); err != nil {
			return 0, err
		}
		return served(b, func() (time.Duration, error) { return c.run(p.output) })
	}
	return subject{name: name, run: func() (time.Duration, error) { return again(one) }}
}

// codeWays are the ways to run the program as a snippet. Those that need an interpreter to stand ready are left out, and
// said so, where none does. done gives back what the ways keep ready.
func (m *measurement) codeWays(p program) (list []subject, done func() error) {
	list = []subject{codeCold(m.backend, p), codeArmed(nameCodeSandbox, m.backend, p, sandbox.Arming{})}
	with := sandbox.Arming{Interpreter: p.code.interpreter}
	err := m.standsReady(p, with)
	a := newAhead(m.backend, p)
	list = m.optional(p, list, a.subject(), err)
	switch p.name {
	case python().name:
		with.Pin = true
		list = m.optional(p, list, codeArmed(namePinned, m.backend, p, with), err)
	case imports().name:
		with.Preload, with.Pin = importedModules(), true
		list = m.optional(p, list, codeArmed(namePreloaded, m.backend, p, with), err)
	}
	return list, a.close
}

var errNoInterpreter = errors.New("no interpreter stands ready in the sandbox that was armed for one")

// standsReady looks whether an armed sandbox has an interpreter in it.
func (m *measurement) standsReady(p program, a sandbox.Arming) (err error) {
	c, err := newSnippetCall(m.backend, p.code)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	before, err := descendants()
	if err != nil {
		return err
	}
	if err := c.arm(a); err != nil {
		return err
	}
	made, err := newProcesses(before)
	if err != nil {
		return err
	}
	for _, pid := range made {
		if program, err := os.Readlink("/proc/" + pid + "/exe"); err == nil && runs(program, p.code.interpreter) {
			return nil
		}
	}
	return errNoInterpreter
}
