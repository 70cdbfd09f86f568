// Command toolcell-init is what the backends start beside themselves, as a program of its own, for programs that embed
// one and cannot be that themselves: the spawner of the native backend, and in a container the first process. It does
// nothing when a person runs it.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
//go:debug decoratemappings=0
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/soulacy/toolcell/backends/docker/helper"
	"github.com/soulacy/toolcell/backends/native/spawner"
)

// The main thread makes the forks: it is the one thread that lives as long as the process, and a child's parent-death
// signal follows the thread that forked it.
func init() { runtime.LockOSThread() }

func main() {
	spawner.Main()
	helper.Main()
	fmt.Fprintln(os.Stderr, "toolcell-init: this program is started by toolcell's backends; run `toolcell --help` instead")
	os.Exit(2)
}
