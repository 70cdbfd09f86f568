// Command toolcell-mcp is the MCP server of toolcell: any client that speaks the Model Context Protocol gets tools whose
// programs run in disposable sandboxes. `toolcell mcp` starts it.
//
// It is a program of its own, since what it is made of would slow down the start of every `toolcell run`.
//
//go:debug containermaxprocs=0
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
	"github.com/soulacy/toolcell/cmd/internal/interrupt"
	"github.com/soulacy/toolcell/sandbox"
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
	// Where nobody asks for it, a write to a client that has gone ends the process before it removes anything (os/signal,
	// "SIGPIPE"). Asked for, it is an error of the write alone.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	ctx, stop := interrupt.Context(context.Background())
	defer stop()
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: os.LookupEnv}
	cmd := p.command()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if code := interrupt.Code(ctx); code != 0 {
		return code
	}
	if err != nil {
		tell(stderr, err)
		return exitOwn
	}
	return 0
}

// tell says why there is no server, one line for each problem, and harmless on a terminal as such errors are.
func tell(w io.Writer, err error) {
	if problems := config.Problems(err); len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(w, "toolcell: "+p.Error())
		}
		return
	}
	fmt.Fprintln(w, "toolcell: "+(&sandbox.Error{Cause: err}).Error())
}
