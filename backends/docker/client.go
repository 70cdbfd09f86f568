package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Client runs an engine's command line. Tests replace it.
type Client interface {
	// Run runs the command to its end and returns its exit status. The error says that it could not be run, or was killed
	// because ctx ended; a command that fails has a status and no error.
	Run(ctx context.Context, c Invocation) (status int, err error)
}

// Invocation is one command.
type Invocation struct {
	// Args are the arguments, without the binary.
	Args []string
	// Stdin is copied to the command's input while it runs. nil means an empty input. Copying is not waited for.
	Stdin io.Reader
	// Stdout and Stderr receive its output, each from one goroutine. nil drops it.
	Stdout, Stderr io.Writer
}

// execClient is the real one.
type execClient struct {
	path string
	env  []string
}

// newClient finds the binary.
func newClient(binary string) (*execClient, error) {
	path, err := exec.LookPath(binary)
	if err != nil {
		return nil, err
	}
	return &execClient{path: path, env: os.Environ()}, nil
}

// outputGrace is how long a command's output may stay open after its end.
const outputGrace = 5 * time.Second

func (c *execClient) Run(ctx context.Context, i Invocation) (int, error) {
	cmd := exec.CommandContext(ctx, c.path, i.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.env, i.Stdout, i.Stderr, outputGrace
	cmd.Dir = workDir()
	detach(cmd)
	var in io.WriteCloser
	if i.Stdin != nil {
		var err error
		// With cmd.Stdin set Wait would wait for a reader that never ends.
		if in, err = cmd.StdinPipe(); err != nil {
			return 0, fmt.Errorf("run %s: %w", c.path, err)
		}
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("run %s: %w", c.path, err)
	}
	if in != nil {
		go func() {
			defer in.Close()
			_, _ = io.Copy(in, i.Stdin) // a command that ends does not read to the end
		}()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("run %s: %w", c.path, context.Cause(ctx))
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case err != nil:
		return 0, fmt.Errorf("run %s: %w", c.path, err)
	default:
		return 0, nil
	}
}

// commandError is a command that ended with another status than 0, with the last line of what it said.
type commandError struct {
	command string
	status  int
	said    string
}

func (e *commandError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("%s: exit status %d", e.command, e.status)
	}
	return fmt.Sprintf("%s: %s", e.command, e.said)
}

// output runs a command and returns what it wrote to its standard output.
func output(ctx context.Context, c Client, args ...string) ([]byte, error) {
	var out bytes.Buffer
	said := &tail{}
	status, err := c.Run(ctx, Invocation{Args: args, Stdout: &out, Stderr: said})
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return out.Bytes(), &commandError{command: args[0], status: status, said: said.String()}
	}
	return out.Bytes(), nil
}

// tail keeps the last bytes written to it, for an error's text.
type tail struct{ buf []byte }

const tailBytes = 2048

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if n := len(t.buf); n > tailBytes {
		t.buf = append(t.buf[:0], t.buf[n-tailBytes:]...)
	}
	return len(p), nil
}

// String returns the last lines as one.
func (t *tail) String() string {
	return strings.Join(strings.FieldsFunc(strings.TrimSpace(string(t.buf)), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
