//go:build !linux && !darwin

package host

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"runtime"

	"github.com/soulacy/toolcell/sandbox"
)

const survivors = "the program itself is killed, and what it started goes on"

const wholeTreeMeasured = false

// noLimits refuses: a limit that is not set must not look like one.
func noLimits(op string) error {
	return unavailable(op, errors.New("there are no resource limits for a process on "+runtime.GOOS),
		"run Python tools in a sandbox (runtime.sandbox.python_tools: container) by docker, podman or nerdctl")
}

func supervisorProgram(c Config) (string, error) {
	if c.Mode == Limits {
		return "", noLimits("open host")
	}
	return "", nil
}

// Exec refuses: see the package's documentation.
func (w Wrapper) Exec() error { return noLimits("start") }

func (b *Backend) try(context.Context, sandbox.ContainerProfile) error { return nil }

// execute runs the program without a supervisor, so that it alone is killed.
func (k *call) execute(ctx context.Context) (ending, error) {
	timed, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	cmd := exec.CommandContext(timed, k.command.Argv[0], k.command.Argv[1:]...)
	cmd.Dir, cmd.Env = k.dir(), k.environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = k.command.Stdin, k.stdout, k.stderr
	cmd.WaitDelay = settleGrace
	if err := cmd.Start(); err != nil {
		return ending{}, startError(k.command.Argv[0], err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return ending{}, nil
	case ctx.Err() != nil:
		return ending{Canceled: true, Survivors: true}, nil
	case timed.Err() != nil:
		return ending{TimedOut: true, Survivors: true}, nil
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return ending{Status: uint32(cmd.ProcessState.ExitCode()), Survivors: errors.Is(err, exec.ErrWaitDelay)}, nil
	default:
		return ending{}, setup("wait for the program", err)
	}
}

func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return sandbox.Invalid("start", "%q: %w", program, sandbox.ErrNotFound)
	}
	return sandbox.Invalid("start", "%q: %w: %w", program, sandbox.ErrNotExecutable, err)
}

// classify says how a program ended by itself.
func (k *call) classify(r *sandbox.Result, end ending) {
	r.Status, r.ExitCode = sandbox.StatusExited, int(int32(end.Status))
}
