// Command caller runs one call that waits, beside a container that stands ready, to be killed: caller BINARY HELPER IMAGE STATE.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/soulacy/toolcell/backends/docker"
	"github.com/soulacy/toolcell/sandbox"
)

func main() {
	b, err := docker.Open(context.Background(), docker.Config{
		Binary: os.Args[1], Helper: os.Args[2], Image: os.Args[3], StateDir: os.Args[4], ProbeTimeout: time.Minute,
	})
	if err == nil {
		err = b.Arm(context.Background(), sandbox.ContainerProfile{PIDs: 7}, sandbox.Arming{Count: 1})
	}
	if err == nil {
		_, err = b.Run(context.Background(), sandbox.ContainerProfile{Limits: sandbox.Limits{Wall: time.Hour}}, sandbox.Command{
			Argv: []string{"/bin/sh", "-c", "echo running; sleep 999"}, Stdout: os.Stdout,
		})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
