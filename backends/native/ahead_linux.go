package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/soulacy/toolcell/backends/native/internal/ahead"
	"github.com/soulacy/toolcell/backends/native/internal/rootfs"
	"github.com/soulacy/toolcell/sandbox"
)

// trials remembers which interpreters have been seen to wait.
type trials struct {
	mu     sync.Mutex
	passed map[string]bool
}

func (t *trials) has(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.passed[key]
}

func (t *trials) pass(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.passed == nil {
		t.passed = make(map[string]bool)
	}
	t.passed[key] = true
}

// startAhead is how the interpreter that an arming names is started; nil when it names none. One that does not wait for
// its call would run its program too early, so it first has to show that it does, with a program that does nothing.
func (b *Backend) startAhead(ctx context.Context, p sandbox.ContainerProfile, a sandbox.Arming) (*ahead.Start, error) {
	if a.Interpreter == sandbox.InterpreterNone {
		return nil, nil
	}
	if err := a.Like.Validate(); err != nil {
		return nil, err
	}
	s := &ahead.Start{
		Interpreter: a.Interpreter, Argv: slices.Clone(a.Like.Argv), Fixed: ahead.Fixed(callEnv(p, a.Like)),
		Preload: slices.Clone(a.Preload), Pin: a.Pin,
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	trial := s.Trial()
	key := fmt.Sprintf("%#v %q %q", trial, p.Image, p.Interpreters)
	s.Compiled = b.compiledHook(ctx, p, s)
	trial.Compiled = s.Compiled
	if b.trials.has(key) {
		return s, nil
	}
	d := kindOf(p, a.Like)
	d.start = &trial
	k, err := b.arm(ctx, d)
	if err != nil {
		return nil, err
	}
	k.close()
	b.trials.pass(key)
	return s, nil
}

// compiledHooks are Python's hook as the interpreters of this backend's images compiled it; nil for one that could not.
type compiledHooks struct {
	mu   sync.Mutex
	list map[string]*ahead.Compiled
}

func (c *compiledHooks) get(key string) (hook *ahead.Compiled, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hook, ok = c.list[key]
	return hook, ok
}

func (c *compiledHooks) set(key string, hook *ahead.Compiled) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil || len(c.list) >= maxCompiledHooks {
		c.list = make(map[string]*ahead.Compiled)
	}
	c.list[key] = hook
}

// compiledHook has the interpreter of a start compile its hook, once. Without an answer interpreters compile it themselves.
func (b *Backend) compiledHook(ctx context.Context, p sandbox.ContainerProfile, s *ahead.Start) *ahead.Compiled {
	if s.Interpreter != sandbox.InterpreterPython {
		return nil
	}
	path, _ := lookup(s.Fixed, "PATH")
	key := fmt.Sprintf("%q %q %q %v", s.Argv[0], p.Image, p.Interpreters, programFile(rootfs.Candidates(s.Argv[0], path)))
	if c, ok := b.compiled.get(key); ok {
		return c
	}
	argv, source := ahead.Compiler(s.Argv[0])
	r, err := b.call(ctx, compiling(p), sandbox.Command{Argv: argv, Stdin: bytes.NewReader(source)}, nil)
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) && !errors.Is(err, sandbox.ErrNotExecutable) {
		return nil // which says nothing of the interpreter
	}
	var c *ahead.Compiled
	if err == nil && r.ExitCode == 0 {
		c, err = ahead.ParseCompiled(r.Stdout)
	}
	if c == nil {
		b.log.Debug("an interpreter did not compile its hook ahead", "program", s.Argv[0], "error", err, "stderr", string(r.Stderr))
	}
	b.compiled.set(key, c)
	return c
}

// compiling is what a profile leaves for the compiling of a hook: its image and the operator's interpreters. What comes of
// it is run in the sandboxes of other profiles.
func compiling(p sandbox.ContainerProfile) sandbox.ContainerProfile {
	return sandbox.ContainerProfile{Image: p.Image, Interpreters: p.Interpreters}.WithDefaults()
}

// maxCompiledHooks bounds them.
const maxCompiledHooks = 64

// callEnv holds the variables that a profile and a call name.
func callEnv(p sandbox.ContainerProfile, c sandbox.Command) []string {
	return slices.Concat(p.Env, c.Env)
}

// programID is what a program's file was when it was looked at. The zero value is that of one that this machine's own
// files do not have, as in an unpacked image, which nothing changes.
type programID struct {
	path         string
	dev, ino     uint64
	mtime, ctime syscall.Timespec
}

// programFile looks at the first of the files that are tried as a program.
func programFile(paths []string) programID {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			return programID{path: p, dev: uint64(s.Dev), ino: s.Ino, mtime: s.Mtim, ctime: s.Ctim}
		}
	}
	return programID{}
}
