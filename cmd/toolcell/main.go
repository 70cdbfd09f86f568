// Command toolcell runs a tool's program in a disposable sandbox. `toolcell run` takes the flags of `docker run` that
// agent gateways use, so that it can stand where their container engine stands.
//
// The command decides nothing about confinement: it reads flags into a profile, opens a backend, and shows what the
// backend answers.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/host"
	"github.com/soulacy/toolcell/backends/native/spawner"
)

// The forks of a spawner, and of a command that makes its call itself, come from the main thread, which only an init
// function can hold on to.
func init() { runtime.LockOSThread() }

func main() {
	spawner.Main() // does not return when this process was started as a spawner
	helper.Main()  // nor this one in a container, or as the watchdog of containers
	host.Main()    // nor this one as the supervisor of a program on the host
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
