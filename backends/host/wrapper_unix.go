//go:build linux || darwin

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/soulacy/toolcell/sandbox"
)

// Exec replaces this process by the program, which gets none of its descriptors but the first three, and returns only when
// that fails. The error is of kind [sandbox.KindSetup]
// when a limit could not be set, with its guarantee, and else of kind [sandbox.KindInvalid]. After an error this process
// may have some of the limits and can only end.
func (w Wrapper) Exec() error {
	if err := closeOnExec(); err != nil {
		return setup("close what is not the program's", err)
	}
	program, err := w.limit()
	if err != nil {
		return err
	}
	return execError(program, syscall.Exec(program, w.Argv, w.Env))
}

// limit finds the program and sets the limits.
func (w Wrapper) limit() (program string, err error) {
	if len(w.Argv) == 0 || w.Argv[0] == "" {
		return "", sandbox.Invalid("command", "no program given")
	}
	if err := w.Limits.Validate(); err != nil {
		return "", err
	}
	if program, err = w.lookup(); err != nil {
		return "", err
	}
	return program, w.Limits.set()
}

// set sets the limits on this process, the address space last.
func (l Rlimits) set() error {
	if l.MemoryMB > 0 {
		reserve()
	}
	for _, r := range l.list() {
		if err := r.set(); err != nil {
			return err
		}
	}
	return nil
}

// reserveBytes is more than arguments and environment take while the program is started ([sandbox.MaxEnvironment]).
const reserveBytes = 8 << 20

// reserve makes sure that nothing more has to be mapped until the program is started: a low limit of the address space
// lets this process have nothing beyond what it has.
func reserve() {
	block := make([]byte, reserveBytes)
	for i := 0; i < len(block); i += os.Getpagesize() {
		block[i] = 1
	}
	runtime.KeepAlive(block)
	block = nil
	runtime.GC() // makes the block free for others
	debug.SetGCPercent(-1)
}

// lookup returns the path of the program, as the environment's PATH has it.
func (w Wrapper) lookup() (string, error) {
	name := w.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	reason := sandbox.ErrNotFound
	for _, dir := range filepath.SplitList(w.path()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		candidate := filepath.Join(dir, name)
		info, err := os.Stat(candidate)
		if err != nil || info.IsDir() {
			continue
		}
		if unix.Access(candidate, unix.X_OK) == nil {
			return candidate, nil
		}
		reason = sandbox.ErrNotExecutable
	}
	return "", sandbox.Invalid("start", "%.200q in PATH: %w", name, reason)
}

// defaultPath is the PATH of an environment without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (w Wrapper) path() string {
	for _, e := range w.Env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			return value
		}
	}
	return defaultPath
}

// execError says why the program was not started, and of a long name the beginning.
func execError(program string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT) && exists(program):
		return sandbox.Invalid("start", "%.200q: its interpreter does not exist: %w", program, sandbox.ErrNotExecutable)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return sandbox.Invalid("start", "%.200q: %w", program, sandbox.ErrNotFound)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EPERM), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ETXTBSY):
		return sandbox.Invalid("start", "%.200q: %w: %w", program, sandbox.ErrNotExecutable, err)
	default:
		return &sandbox.Error{Kind: sandbox.KindInvalid, Op: "start", Cause: fmt.Errorf("%.200q: %w", program, err)}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
