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
	t := tools.Tools{Chooser: here{b}}
	return subject{name: nameCode, run: func() (time.Duration, error) {
		begin := time.Now()
		r, err := t.RunCode(context.Background(), tools.CodeArgs{Language: p.code.language, Code: p.code.code})
		d := time.Since(begin)
		if err != nil {
			return d, err
		}
		return d, check(r.Result, p.output)
	}}
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
	return c.backend.Arm(context.Background(), c.profile, a)
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
	return subject{name: name, run: func() (d time.Duration, err error) {
		c, err := newSnippetCall(b, p.code)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		if err := c.arm(a); err != nil {
			return 0, err
		}
		return c.run(p.output)
	}}
}

// codeWays are the ways to run the program as a snippet. Those that need an interpreter to stand ready are left out, and
// said so, where none does.
func (m *measurement) codeWays(p program) []subject {
	if p.code == nil {
		return nil
	}
	list := []subject{codeCold(m.backend, p), codeArmed(nameCodeSandbox, m.backend, p, sandbox.Arming{})}
	with := sandbox.Arming{Interpreter: p.code.interpreter}
	pinned, preloaded := with, with
	pinned.Pin = true
	preloaded.Preload, preloaded.Pin = importedModules(), true
	ways := []subject{codeArmed(nameCodeArmed, m.backend, p, with)}
	switch p.name {
	case python().name:
		ways = append(ways, codeArmed(namePinned, m.backend, p, pinned))
	case imports().name:
		ways = append(ways, codeArmed(namePreloaded, m.backend, p, preloaded))
	}
	err := m.standsReady(p, with)
	for _, w := range ways {
		list = m.optional(p, list, w, err)
	}
	return list
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
