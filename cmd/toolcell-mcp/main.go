// Command toolcell-mcp is the MCP server of toolcell: any client that speaks the Model Context Protocol gets tools whose
// programs run in disposable sandboxes. `toolcell mcp` starts it.
//
// It is a program of its own, since what it is made of would slow down the start of every `toolcell run`.
//
//go:debug containermaxprocs=0
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/sandbox/config"
)

func main() {
	spawner.Main() // does not return when this process was started as a spawner
	helper.Main()  // nor this one in a container, or as the watchdog of containers
	host.Main()    // nor this one as the supervisor of a program on the host
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitOwn is the exit code when the server could not serve; a signal that ended it is 128+n.
const exitOwn = 125

// run is the whole program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	got := make(chan os.Signal, 1)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(got)
	// Where nobody asks for it, a write to a client that has gone ends the process before it removes anything (os/signal,
	// "SIGPIPE"). Asked for, it is an error of the write alone.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case s := <-got:
			signal.Stop(got) // a second one ends the process at once, and the sandboxes with it
			cancel(signalError{s})
		case <-ctx.Done():
		}
	}()
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: os.LookupEnv}
	cmd := p.command()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var sig signalError
	if errors.As(context.Cause(ctx), &sig) {
		return sig.exit()
	}
	if err != nil {
		tell(stderr, err)
		return exitOwn
	}
	return 0
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ os.Signal }

// Error names the signal.
func (e signalError) Error() string { return e.String() }

// exit is what a shell shows for a program that the signal ended.
func (e signalError) exit() int {
	if s, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitOwn
}

// tell says why there is no server, one line for each problem.
func tell(w io.Writer, err error) {
	if problems := config.Problems(err); len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(w, "toolcell: "+printable(p.Error()))
		}
		return
	}
	fmt.Fprintln(w, "toolcell: "+printable(err.Error()))
}
